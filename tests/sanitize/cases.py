"""The smallest irregular launch of each kernel: a test of the simulator tier, below tests/.

A kernel with several modes has several. The tier checks each test (conftest.py). `python -m sanitize --choose TESTS`
proposes lines.
"""

ONLINE = "factorization/online/test_kernels.py::test_"
PREPARE = "factorization/prepare/test_kernels.py::test_"
OF_COPIES = "factorization/shared/test_copies.py::test_"
PLACES = "factorization/solvers/sgd/test_place_kernels.py::test_"
CHUNKS = "factorization/solvers/sgd/test_chunk_kernels.py::test_"
STREAM = "factorization/solvers/sgd/test_stream_kernels.py::test_"
FACTORS = "factorization/test_kernels.py::test_"
RACES = "factorization/solvers/hogwild/test_kernels.py::test_"
EASE = "factorization/solvers/ease/test_kernels.py::test_"
IALS = "factorization/solvers/ials/test_kernels.py::test_"
SQUARES = "factorization/solvers/squares/test_kernels.py::test_"
SAMPLED = "factorization/solvers/sampled/test_kernels.py::test_"
ORDERS = "ratings/orders/test_kernels.py::test_"
RESIDENT = "ratings/orders/test_resident.py::test_ids_and_their_twins[700-3-64-int64]"
EXACT = "neighbors/test_exact_kernels.py::test_"
GROUP = "primitives/test_group_kernels.py::test_"
SIMLSH = "neighbors/test_simlsh_kernels.py::test_"
BUCKETS = "neighbors/test_buckets_kernels.py::test_"
RANKING = "ranking/kernels/test_kernels.py::test_"
SVT = "svt/test_kernels.py::test_"

SLICES = (f"{SVT}threshold_slices[33 x 7-float32]", f"{SVT}slices_too_large_for_shared_memory")
STRATA = f"{PREPARE}runs_of_strata[powers of four-(5, 96)-3-2]"
NUMBERS = f"{PREPARE}numbers_and_what_follows_them[(3, 32)-31]"
ROWS = f"{PREPARE}rows_in_places[shape1-7-3]"
FIELDS = f"{ORDERS}codes_keys_fields_and_counts[3-33]"
PROJECTED = "neighbors/test_projection_kernels.py::test_codes_are_signs_of_projections[cut columns-64]"
MISSED = f"{BUCKETS}keys_are_missed_hashings[2-3-3-5-6-37]"
GRAM = f"{RANKING}gram[70-lengths1-1]"
DENSE = f"{RANKING}products_with_a_dense_matrix[shape1-61-33-float32]"
PAIRS = (f"{RANKING}pair_sums_and_combine[64-lengths0-0]", f"{RANKING}pair_sums_and_combine[0-lengths1-3]")

CASES = {
    "device.kernels.number_threads": "device/test_smoke_test.py::test_kernel_and_twin_agree",
    "factorization.kernels.look_up_codes": f"{FACTORS}look_up_codes[64-3]",
    "factorization.kernels.neighbor_codes": f"{FACTORS}neighbor_codes[64-3]",
    "factorization.kernels.predict_pairs": (
        f"{FACTORS}predict_pairs[33-0-16-2-96-False]",
        f"{FACTORS}predict_pairs[64-33-32-3-32-True]",
    ),
    "factorization.kernels.fill_tables": f"{FACTORS}fill_tables[96]",
    "factorization.kernels.score_rows": f"{FACTORS}score_rows[33-5-3-96-True]",
    "factorization.online.kernels.find_levels": f"{ONLINE}find_levels[(3, 32)-33]",
    "factorization.online.kernels.find_pairs": f"{ONLINE}find_pairs[(25, 30)-(3, 32)]",
    "factorization.online.kernels.correct_codes": f"{ONLINE}correct_codes[(25, 30)-(3, 32)]",
    "factorization.online.kernels.insert_records": f"{ONLINE}tiles_of_old_ratings",
    "factorization.online.kernels.add_starts": f"{ONLINE}starts_and_rows[(25, 30)-(3, 32)]",
    "factorization.online.kernels.flag_rows": f"{ONLINE}starts_and_rows[(25, 30)-(3, 32)]",
    "factorization.online.kernels.mark_fixed": f"{ONLINE}mark_fixed[(25, 30)-(3, 32)]",
    "factorization.online.kernels.read_base": f"{ONLINE}rows_of_tables[(3, 32)]",
    "factorization.online.kernels.fresh_means": f"{ONLINE}fresh_means[(2, 64)]",
    "factorization.online.kernels.begin_rows": f"{ONLINE}rows_that_begin[(3, 32)-True]",
    "factorization.online.kernels.take_flagged": f"{ONLINE}rows_of_tables[(3, 32)]",
    "factorization.online.kernels.mark_new": f"{ONLINE}new_rows_are_marked[(3, 32)-rows4]",
    "factorization.online.kernels.rename_new": f"{ONLINE}new_rows_are_renamed[(3, 32)]",
    "factorization.online.kernels.most_rated": f"{ONLINE}rows_are_cut_as_the_host_cuts_them[(3, 32)-40]",
    "factorization.online.kernels.count_chunks": f"{ONLINE}rows_are_cut_as_the_host_cuts_them[(3, 32)-40]",
    "factorization.online.kernels.add_parts": f"{ONLINE}chunks_before[1024-gpu]",
    "factorization.prepare.kernels.shuffle_rows": f"{PREPARE}shuffle_rows[powers of four-(5, 96)]",
    "factorization.prepare.kernels.lay_out": f"{PREPARE}lay_out[powers of four-(2, 64)]",
    "factorization.prepare.kernels.lay_out_values": f"{PREPARE}lay_out_values[powers of four-(2, 64)]",
    "factorization.prepare.kernels.count_up": NUMBERS,
    "factorization.prepare.kernels.follow": NUMBERS,
    "factorization.prepare.kernels.key_runs": STRATA,
    "factorization.prepare.kernels.turn_around": STRATA,
    "factorization.prepare.kernels.cut_runs": STRATA,
    "factorization.prepare.kernels.raise_codes": NUMBERS,
    "factorization.prepare.kernels.weighted_means": f"{PREPARE}weighted_means[empty rows-(3, 32)]",
    "factorization.prepare.kernels.residual_means": f"{PREPARE}residual_means[empty rows-(3, 32)]",
    "factorization.prepare.kernels.start_rows": f"{PREPARE}start_rows[(3, 32)-6-5-16-True-True]",
    "factorization.prepare.kernels.pack_near": f"{PREPARE}pack_near[shape1-33-5-8]",
    "factorization.prepare.kernels.count_keys": f"{PREPARE}count_keys[shape1-counts1]",
    "factorization.prepare.kernels.spread_rows": ROWS,
    "factorization.prepare.kernels.move_rows": ROWS,
    "factorization.prepare.kernels.take_rows": ROWS,
    "factorization.prepare.kernels.read_rows": f"{PREPARE}read_rows[shape1-True-5-3-16]",
    "factorization.shared.kernels.factor_squares": f"{OF_COPIES}how_long_factors_are[5-7-3-3]",
    "factorization.shared.kernels.damp": f"{OF_COPIES}damp[33]",
    "factorization.shared.kernels.take_changes": f"{OF_COPIES}take_changes[5-12-True]",
    "factorization.shared.kernels.add_changes": (
        f"{OF_COPIES}add_changes[5-12-True-False]",
        f"{OF_COPIES}add_changes[5-12-True-True]",
    ),
    "factorization.prepare.kernels.pack_pairs": f"{PREPARE}pairs_in_keys[(3, 32)-31]",
    "factorization.prepare.kernels.items_of": f"{PREPARE}pairs_in_keys[(3, 32)-31]",
    "factorization.prepare.kernels.error_sums": f"{PREPARE}error_sums[(5, 96)-33]",
    "factorization.kernels.add_weights": f"{EASE}add_weights[33-grid1-64]",
    "factorization.kernels.add_listed_weights": f"{EASE}add_listed_weights[33-3-64]",
    "factorization.solvers.ease_kernels.regress_on_neighbors": f"{EASE}regress_on_neighbors[data7-launched7]",
    "factorization.solvers.ials_kernels.begin_descent": f"{IALS}a_step[32-19-1]",
    "factorization.solvers.ials_kernels.descend": (f"{IALS}a_step[32-19-1]", f"{IALS}a_step[264-3-1]"),
    "factorization.solvers.ials_kernels.invert_panel": f"{IALS}an_inverse_by_panels[33-0.5]",
    "factorization.solvers.ials_kernels.products_of_pieces": (
        f"{IALS}products_of_pieces[True-8-4]",
        f"{IALS}products_of_pieces[False-16-12]",
    ),
    "factorization.solvers.squares_kernels.as_matrix": f"{SQUARES}sums_over_a_table[14-16]",
    "factorization.solvers.squares_kernels.sum_of_grams": f"{SQUARES}sums_over_a_table[14-16]",
    "factorization.solvers.squares_kernels.solve_by_cholesky": (
        f"{SQUARES}rows_are_solved[3-4-20]",
        f"{SQUARES}rows_are_solved[62-64-100]",
    ),
    "factorization.solvers.squares_kernels.gram_of_pieces": (
        f"{SQUARES}rows_are_solved[8-32-100]",
        f"{SQUARES}several_blocks_share_a_matrix",
    ),
    "factorization.solvers.hogwild_kernels.hogwild_epoch": (
        f"{RACES}one_worker[False-33-1000]",
        f"{RACES}workers_without_conflicts[5-3]",
    ),
    "factorization.solvers.hogwild_kernels.scatter_ratings": f"{RACES}ratings_are_scattered[counts1]",
    "factorization.solvers.sampled_kernels.sampled_epoch": (
        f"{SAMPLED}negatives_and_chunks[0-3]",
        f"{SAMPLED}one_worker[3-5-8-True]",
    ),
    "factorization.solvers.sgd.kernels.grow_rows": (
        f"{PLACES}grow_rows[8-1-300-2-False-True]",
        f"{PLACES}grow_rows[16-3-513-2-True-True]",
    ),
    "factorization.solvers.sgd.kernels.cut_rows": f"{CHUNKS}cut_rows[empty rows-shape1]",
    "factorization.solvers.sgd.kernels.fallen_lengths": f"{CHUNKS}fallen_lengths[33-130-shape0]",
    "factorization.solvers.sgd.kernels.deal_hands": f"{CHUNKS}hands[8-33-shape0]",
    "factorization.solvers.sgd.kernels.take_quads": f"{CHUNKS}hands[8-33-shape0]",
    "factorization.solvers.sgd.kernels.unpack_ratings": f"{STREAM}ratings[3-33-shape1]",
    "factorization.solvers.sgd.kernels.unpack_codes": f"{STREAM}codes[3-64-33-shape1]",
    "factorization.solvers.sgd.kernels.sgd_epoch": (
        f"{FACTORS}sgd_epoch[33-5-16-False]",
        f"{FACTORS}sgd_epoch_with_halves[130-5-32-items-False]",
        f"{FACTORS}sgd_epoch_in_the_layout_that_is_used[5-0-True]",
        f"{FACTORS}workers_without_conflicts[3-3-96]",
    ),
    "imputation.smoothness.kernels.advance": "imputation/smoothness/test_kernels.py::test_advance[33-2]",
    "imputation.smoothness.kernels.differ": "imputation/smoothness/test_kernels.py::test_differ[5-17-lags0-2]",
    "imputation.smoothness.kernels.spread": "imputation/smoothness/test_kernels.py::test_spread[5-67-2]",
    "imputation.smoothness.kernels.redirect": "imputation/smoothness/test_kernels.py::test_redirect[0.7]",
    "imputation.spectral.kernels.extrapolate": "imputation/spectral/test_kernels.py::test_extrapolate[3-float32]",
    "imputation.spectral.kernels.renew": "imputation/spectral/test_kernels.py::test_renew[2-True-shape1-3-5]",
    "neighbors.hash_kernels.hash_minwise": (
        "neighbors/test_minhash_kernels.py::test_codes_are_the_twins[64-full words-None]"
    ),
    "neighbors.hash_kernels.project_columns": PROJECTED,
    "neighbors.hash_kernels.join_parts": PROJECTED,
    "neighbors.hash_kernels.hash_columns": (
        f"{SIMLSH}hash_codes[cut columns]",
        f"{SIMLSH}hash_codes[all words full]",
    ),
    "neighbors.hash_kernels.join_chunks": f"{SIMLSH}hash_codes[cut columns]",
    "neighbors.hash_kernels.add_chunks": f"{SIMLSH}sums_that_are_added_to[cut columns]",
    "neighbors.hash_kernels.add_totals": f"{SIMLSH}sums_that_are_added_to[cut columns]",
    "neighbors.search_kernels.fill": MISSED,
    "neighbors.search_kernels.table_hashes": MISSED,
    "neighbors.search_kernels.bucket_matches": MISSED,
    "neighbors.search_kernels.count_pairs": f"{EXACT}pairs_of_clicks[few meet-32]",
    "neighbors.search_kernels.list_pairs": (
        f"{EXACT}pairs_of_ratings[half stars, sparse-128]",
        f"{EXACT}pairs_of_clicks[few meet-32]",
    ),
    "neighbors.search_kernels.hamming_distances": (
        "neighbors/test_hamming_kernels.py::test_hamming_distances[5-3-33-16]"
    ),
    "neighbors.search_kernels.fill_slots": "neighbors/test_supplement_kernels.py::test_fill_slots[9-8-5]",
    "primitives.group.kernels.count_digits": f"{GROUP}count_and_scan[8-2049-1-2]",
    "primitives.group.kernels.scan_digits": f"{GROUP}scan[257]",
    "primitives.group.kernels.row_starts": f"{GROUP}row_starts[2-33-rows2]",
    "primitives.group.kernels.scatter_digits": (
        f"{GROUP}scatter[8-True-2049-1-2]",
        f"{GROUP}scatter[6-False-33-1-1]",
    ),
    "ranking.kernels.matrix.pair_pulls": GRAM,
    "ranking.kernels.matrix.query_means": GRAM,
    "ranking.kernels.matrix.weighted_gram": GRAM,
    "ranking.kernels.pair_sums.start_planes": f"{RANKING}level_tree[lengths0-3-margins-5-uint16]",
    "ranking.kernels.pair_sums.search_plane": f"{RANKING}level_tree[lengths0-3-margins-5-uint16]",
    "ranking.kernels.matrix.csr_product": f"{RANKING}csr_product[float32]",
    "ranking.kernels.matrix.by_rank": f"{RANKING}by_rank",
    "ranking.kernels.matrix.pad_rows": f"{RANKING}pad_rows_and_its_twin",
    "ranking.kernels.matrix.add_rows": f"{RANKING}add_rows[133-17]",
    "ranking.kernels.matrix.document_scores": DENSE,
    "ranking.kernels.matrix.transposed_product": DENSE,
    "ranking.kernels.pair_sums.p_swx": "ranking/kernels/test_p_swx.py::test_sums_over_several_tiles[wide]",
    "ranking.kernels.pair_sums.combine": PAIRS,
    "ranking.kernels.pair_sums.pair_product": (
        f"{RANKING}pair_product[few features-True]",
        f"{RANKING}pair_product[through the workspace-False]",
        f"{RANKING}pair_product[many rows-True]",
    ),
    "ranking.kernels.pair_sums.pair_sums": PAIRS,
    "ratings.orders.kernels.enter_values": f"{ORDERS}enter_and_find[3-64-700]",
    "ratings.orders.kernels.find_codes": f"{ORDERS}enter_and_find[3-64-700]",
    "ratings.orders.kernels.grid_codes": FIELDS,
    "ratings.orders.kernels.name_rows": f"{ORDERS}rows_are_named[counts0]",
    "ratings.orders.kernels.pack_keys": FIELDS,
    "ratings.orders.kernels.take_fields": FIELDS,
    "ratings.orders.kernels.count_codes": FIELDS,
    "ratings.orders.kernels.id_bounds": RESIDENT,
    "ratings.orders.kernels.mark_ids": RESIDENT,
    "ratings.orders.kernels.rank_ids": RESIDENT,
    "ratings.orders.kernels.as_single": "ratings/orders/test_resident.py::test_as_single_and_its_twin[float64]",
    "ratings.orders.kernels.first_repeat": f"{ORDERS}first_repeat[rows0-2]",
    "selection.kernels.select_listed": "selection/test_kernels.py::test_select_listed[lists of any length]",
    "selection.kernels.select_smallest": (
        "selection/test_kernels.py::test_select_smallest[few keys]",
        "selection/test_kernels.py::test_select_smallest[one more than a turn]",
    ),
    "sorting.kernels.first_nan": "sorting/test_kernels.py::test_first_nan[300-nans2]",
    "sorting.kernels.argsort_segments": (  # without long segments; in registers, by a block, by quicksort; merged runs
        "sorting/test_kernels.py::test_lengths[a warp-float64]",
        "sorting/test_kernels.py::test_keys[few values-float32]",
        "sorting/test_kernels.py::test_runs_are_merged_in_pairs[float64]",
    ),
    "svt.kernels.bidiagonal.bidiagonalize": SLICES,
    "svt.kernels.bulge_chasing.chase": SLICES,
    "svt.kernels.bulge_chasing.rotate": SLICES,
    "svt.kernels.bulge_chasing.arrange": SLICES,
    "svt.kernels.bulge_chasing.multiply": SLICES,
    "svt.kernels.bulge_chasing.combine": "svt/test_products.py::test_combine_is_its_twin[forward-shape1-grid1-float32]",
    "svt.kernels.subspace.whiten": "svt/test_subspace.py::test_whiten_kernel_is_its_twin[9-float32]",
}

# Intended findings. (tool, kernel): reason. The races of Hogwild (sgd_epoch, hogwild_epoch) are on rows in global
# memory, which racecheck does not cover.
EXCEPTED = {}


def tests_of(name):
    """Return the tests of a kernel."""
    tests = CASES.get(name, ())
    return (tests,) if isinstance(tests, str) else tests


STANDS_FOR = {}  # test: names of its kernels
for name in CASES:
    for test in tests_of(name):
        STANDS_FOR.setdefault(test, set()).add(name)
