"""JSON objects: keys omitted, added, values of another kind."""

import copy

from fuzz.mutate.values import JSON


def edit(tree, rng):
    """Return a copy of a tree of dicts and lists with one edited place."""
    tree = copy.deepcopy(tree)
    places = list(_places(tree))
    if not places:
        return tree
    holder, key = places[rng.integers(len(places))]
    draw = rng.random()
    if draw < 0.65:
        holder[key] = copy.deepcopy(JSON[rng.integers(len(JSON))])
    elif draw < 0.75:
        del holder[key]
    elif draw < 0.85 and isinstance(holder[key], (int, float)):
        holder[key] = type(holder[key])(holder[key] + int(rng.choice([-1, 1, 7])))
    elif isinstance(holder, dict):
        holder[("x", "", "class", "n_factors", key + "_")[rng.integers(5)]] = copy.deepcopy(
            JSON[rng.integers(len(JSON))]
        )
    else:
        holder.append(copy.deepcopy(JSON[rng.integers(len(JSON))]))
    return tree


def _places(tree):
    """Return every (holder, key) of a tree; those near the root more often."""
    for key, value in list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree)):
        for _ in range(3):
            yield tree, key
        if isinstance(value, (dict, list)):
            yield from list(_places(value))[:60]
