"""Naive readers of svmlight text with query ids: plain Python, float64, line by line."""


def letor(text):
    """[(label, query id, {index: value}, comment)] of lines `label qid:ID index:value ... #comment`; NULL is None."""
    rows = []
    for line in text.replace("\r\n", "\n").split("\n"):
        words, sign, comment = line.partition("#")
        words = words.split()
        if not words:
            continue
        query = words[1].removeprefix("qid:") if len(words) > 1 and words[1].startswith("qid:") else None
        pairs = [word.split(":") for word in words[1 + (query is not None) :]]
        values = {int(index): None if value == "NULL" else float(value) for index, value in pairs}
        rows.append((float(words[0]), query, values, comment.strip() if sign else ""))
    return rows


def dense(rows, n, null="zero"):
    """Return [[value] * n] of rows of letor; null 'zero', or 'min': the smallest value of the feature in the query."""
    known = {}
    for _, query, values, _ in rows:
        for index in range(1, n + 1):
            if values.get(index, 0.0) is not None:
                known.setdefault((query, index), []).append(values.get(index, 0.0))

    def filled(query, index, value):
        smallest = min(known.get((query, index), [0.0])) if null == "min" else 0.0
        return smallest if value is None else value

    return [[filled(query, index, values.get(index, 0.0)) for index in range(1, n + 1)] for _, query, values, _ in rows]
