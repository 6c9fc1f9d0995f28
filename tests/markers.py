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
        # many small checks of every method
        "methods/test_checks.py",
        "test_imbalanced_learn",
        "test_every_data_set_loads_as_it_is_listed",
        # whole pages, comparisons and studies
        "test_a_page_of_a_normal_table_is_under_a_megabyte",
        "test_class_weights_shift_the_base_rate_of_every_classifier_alike",
        "test_every_headline_is_one_plain_sentence",
        "test_the_tuned_threshold_is_no_better_than_luck_where_there_is_nothing_to_find",
        "test_real_rows_of_separate_clouds_are_beyond_doubt",
        "test_a_study_ends_in_tables_a_picture_and_a_page_and_is_not_computed_twice",
        # one long search
        "test_no_draw_of_the_same_row_that_flips_is_nearer",
        "test_jobs_and_memory_never_change_a_byte_on_a_table_of_many_chunks",
        "test_a_hundred_thousand_to_three_works",
        # what starts Python anew
        "test_an_example_runs",
        "test_what_the_readme_says_an_example_prints_is_printed",
        "test_the_filters_of_python_are_heeded",
        "test_a_search_with_threads_warns_once",
        "test_a_loop_warns_once_for_each_line_and_each_class",
        "test_a_cross_validation_warns_once_and_at_the_line_that_called_it",
        "test_the_sampler_loads_hardly_more_than_imbalanced_learn_does",
        "test_importing_the_peers_loads_no_extra",
        "test_the_list_of_the_methods_modules_is_what_the_samplers_import",
        "test_on_a_terminal_a_doubtful_header_is_asked_about",
        "test_a_shell_can_complete_commands_and_options",
        "test_a_reader_that_goes_away_is_no_error",
        "test_ctrl_c_*",
        "test_*kill*",
    ],
}
