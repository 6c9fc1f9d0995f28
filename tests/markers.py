"""Which tests are marked, by patterns of their files and names; `make quick` leaves them out.

A `?` begins the pattern of a test's parameters.

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
        "test_data_sets_are_listed_for_machines",
        "test_the_list_has_every_data_set_of_the_package",
        "test_many_tables_are_mixed_and_some_have_holes",
        "test_every_table_loads_as_it_is_listed_and_is_imbalanced",
        "test_data_sets_are_listed_with_their_sizes",
        "test_a_page_of_a_normal_table_is_under_a_megabyte",
        "test_real_rows_of_separate_clouds_are_beyond_doubt",
        # whole comparisons; a smaller one stays
        "test_it_answers_in_words_and_writes_tables_summary_and_page",
        "test_a_subsample_is_announced_first_and_keeps_the_minority",
        "test_full_uses_every_row_and_the_number_of_fits_is_said_before",
        "test_a_file_without_a_header_gets_the_same_options_as_balance",
        "test_a_page_is_as_private_as_its_table_and_can_do_without_rows",
        "test_another_method_is_computed_and_the_others_are_kept",
        "test_a_notebook_shows_the_verdict_and_every_table_as_text",
        # whole experiments, listed
        "test_trials_are_distinct_and_as_many_as_the_settings_say",
        "studies/test_identity.py",
        "test_a_run_is_complete_on_every_data_set_before_the_next_one_begins",
        "test_a_file_that_is_not_a_store_is_refused_and_left_alone",
        # many searches of one kind; the naive twins and a smaller table of each stay
        "test_jobs_and_memory_never_change_a_byte",
        "test_jobs_and_memory_change_nothing",
        "test_every_counterfactual_is_what_its_provenance_says",
        "test_a_remedy_of_many_classes_stays_short",
        "test_a_sentence_says_makes_it_only_if_f_agrees",
        "test_the_moved_f_says_the_class_that_gains_most_over_its_prior",
        "test_without_the_kernel_the_bytes_are_the_same_*",
        "test_without_the_kernel_the_bytes_are_the_same?*-own-3?",
        "test_the_kernel_finds_what_the_papers_loops_find?3?",
        "test_the_kernel_finds_what_numpy_finds_with_300_features",
        "test_drawing_again_makes_at_most_twice_the_draws_of_the_first_pass",
        "test_rows_drawn_again_are_minimal_too_and_none_comes_twice",
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
        "test_compare_loads_neither_studies_nor_pages_nor_plots",
        "test_on_a_terminal_*",
        "test_a_shell_can_complete_commands_and_options",
        "test_a_reader_that_goes_away_*",
        "test_ctrl_c_*",
        "test_*kill*",
    ],
}
