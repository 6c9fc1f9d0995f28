"""Which tests are marked, by patterns of their files and names; `make quick` leaves them out.

Slow is what computes for more than about a second, measured one by one. What is short, or the
heart of the method (the naive twins, the properties of a counterfactual), stays in `make quick`.
"""

MARKED = {
    "dask": ["distributed/*", "cli/test_on_dask.py", "attacks/test_distributed.py"],
    "browser": ["report/test_browser*.py"],
    "slow": [
        "attacks/*",
        "studies/test_reproduction.py",
        "studies/test_study.py",
        "studies/test_rivals.py",
        "compare/test_leakage.py",
        "compare/test_verdict.py",
        # many small checks of every method
        "methods/test_checks.py",
        "methods/deep/*",
        "methods/test_template.py",
        # many small fits of classifiers that fit others
        "estimators/test_resampled.py",
        "estimators/test_counterfactual.py",
        "compare/test_advice.py",
        "test_imbalanced_learn",
        "test_every_data_set_loads_as_it_is_listed",
        "test_no_column_tells_the_answer_alone",
        # whole pages, and all the data sets
        "test_data_sets_are_listed_with_their_sizes",
        "test_a_page_of_a_normal_table_is_under_a_megabyte",
        "test_real_rows_of_separate_clouds_are_beyond_doubt",
        # one long search
        "test_no_draw_of_the_same_row_that_flips_is_nearer",
        "test_jobs_and_memory_never_change_a_byte_on_a_table_of_many_chunks",
        "test_a_hundred_thousand_to_three_works",
        "test_build.py",
        # f fitted ten times more, or asked row by row
        "test_a_robust_answer_is_called_the_class_by_the_refits_too",
        "test_any_classifier_can_be_fitted_again",
        "test_rooms_of_any_other_f_are_said_to_be_bisected",
        "test_refits_are_counted",
        # what starts Python anew
        "test_an_example_runs",
        "test_what_a_page_says_an_example_prints_is_printed",
        "test_the_python_of_a_page_runs",
        "test_a_tutorial_runs_as_a_notebook",
        "test_the_filters_of_python_are_heeded",
        "test_a_search_with_threads_warns_once",
        "test_a_loop_warns_once_for_each_line_and_each_class",
        "test_a_cross_validation_warns_once_and_at_the_line_that_called_it",
        "test_the_sampler_loads_hardly_more_than_imbalanced_learn_does",
        "test_importing_the_*_loads_no_extra",
        "test_on_a_terminal_*",
        "test_a_shell_can_complete_commands_and_options",
        "test_a_reader_that_goes_away_*",
        "test_ctrl_c_*",
        "test_*kill*",
    ],
}
