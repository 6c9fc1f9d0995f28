"""What holds for every test: the machine is shared, so no test depends on seconds."""

from hypothesis import settings

settings.register_profile("counterbalance", deadline=None)
settings.load_profile("counterbalance")
