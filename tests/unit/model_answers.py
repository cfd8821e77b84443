"""What models have answered where a JSON object was asked for, and what should come of it.

Each case: a name, the answer, and either the lesson's advice that is to be saved, or the failure.
"""

import json
from typing import Final

OBJECT: Final = '{"path": "p", "lessons": [{"advice": "You should ask", "events": ["e1"]}]}'
_CALL = '{"name": "ReviewAnswer", "arguments": %s}'
_QUOTED = '"' + OBJECT.replace('"', '\\"') + '"'

READ: Final[dict[str, str]] = {
    "plain": OBJECT,
    "byte order mark": "\ufeff" + OBJECT,
    "fence": f"```json\n{OBJECT}\n```",
    "fence without a language": f"```\n{OBJECT}\n```",
    "fence that is not closed": f"```json\n{OBJECT}",
    "tildes of another kind": f"Here:\n```JSON\n{OBJECT}\n```\nThat is all.",
    "prose before": f"Sure! Here is the review:\n{OBJECT}",
    "prose around": f"The review is {OBJECT} as you asked.",
    "prose with brackets": f"As [1] says (see {{x}}):\n{OBJECT}",
    "thought aloud": f"<think>Maybe {{ is fine }}</think>\n{OBJECT}",
    "special tokens": f"<|assistant|>{OBJECT}<|end|>",
    "trailing commas": OBJECT.replace("]}", "],}").replace("}]", "},]").replace("]}", "],}"),
    "single quotes": "{'path': 'p', 'lessons': [{'advice': 'You should ask', 'events': ['e1']}]}",
    "bare keys": '{path: "p", lessons: [{advice: "You should ask", events: ["e1"]}]}',
    "comments": OBJECT.replace('"lessons"', '// what was learned\n"lessons"'),
    "python literals": OBJECT.replace('"p"', "None"),
    "missing last brace": OBJECT[:-1],
    "missing last brackets": OBJECT[:-3],
    "missing comma": OBJECT.replace('"p", ', '"p" '),
    "a line end in a text": OBJECT.replace("You should ask", "You should\nask").replace(
        "\nask", " ask"
    ),
    "bad escape": OBJECT.replace('"p"', '"C:\\dir \\x"'),
    "lone surrogate escaped": OBJECT.replace('"p"', '"\\ud83d"'),
    "lone surrogate raw": OBJECT.replace('"p"', '"\ud83d"'),
    "NUL": OBJECT.replace('"p"', '"a\x00b"'),
    "NaN": OBJECT.replace('"events": ["e1"]', '"events": ["e1"], "importance": NaN'),
    "infinity": OBJECT.replace('"events": ["e1"]', '"events": ["e1"], "confidence": -Infinity'),
    "null for a default": OBJECT.replace('"p"', "null"),
    "list for the object": f"[{OBJECT}]",
    "two objects for one": f'[{OBJECT}, {{"path": "q"}}]',
    "object in an object": f'{{"review": {OBJECT}}}',
    "named after its shape": f'{{"ReviewAnswer": {OBJECT}}}',
    "tool call": _CALL % OBJECT,
    "tool call with quoted arguments": _CALL % _QUOTED,
    "tool call of another form": f'{{"function": {_CALL % OBJECT}}}',
    "tool calls in a list": f'{{"tool_calls": [{{"function": {_CALL % _QUOTED}}}]}}',
    "tool call in marks": f"<tool_call>{_CALL % OBJECT}</tool_call>",
    "in the schema's place": f'{{"type": "object", "properties": {OBJECT}}}',
    "quoted as a text": _QUOTED,
    "a single item for a list": '{"lessons": {"advice": "You should ask", "events": ["e1"]}}',
    "ids as one text": OBJECT.replace('["e1"]', '"e1, e1"'),
    "ids in brackets": OBJECT.replace('["e1"]', '["[e1]"]'),
    "upper case keys": OBJECT.replace('"lessons"', '"Lessons"').replace('"advice"', '"Advice"'),
    "one bad item among good": OBJECT.replace(
        "[{", '[{"advice": 7}, {"advice": "none", "events": []}, 3, {', 1
    ),
    "unknown fields": OBJECT.replace('"path"', '"mood": "fine", "path"'),
    "the end of a thought alone": f'I think {{maybe}} so: {{"path": "no"}}\n</think>\n{OBJECT}',
    "reasons first": f"<reasoning>Let me see {{x}}</reasoning>\n{OBJECT}",
    "quoted twice": json.dumps(_QUOTED),
    "curly quotation marks": OBJECT.replace('"', "“"),
    "wide signs": OBJECT.replace(": ", "：")
    .replace(", ", "，")
    .replace("{", "｛")
    .replace("}", "｝"),
    "one after the other": '{"path": "p"}\n' + OBJECT,
    "a schema before": f'{{"properties": {{"path": {{"type": "string"}}}}}}\n{OBJECT}',
    "lessons by number": '{"lessons": {"1": {"advice": "You should ask", "events": ["e1"]}}}',
    "the path in parts": OBJECT.replace('"p"', '["p", "q"]'),
    "the path as an object": OBJECT.replace('"p"', '{"steps": 3}'),
    "cut after an item": OBJECT[:-2] + ', {"advice": "You sho',
}

FAILED: Final[dict[str, tuple[str, str]]] = {
    "nothing": ("", "empty"),
    "blanks": (" \n\t ", "empty"),
    "only marks": ("<|assistant|><|end|>", "empty"),
    "refusal": ("I'm sorry, but I can't help with that.", "refusal"),
    "refusal in Chinese": ("抱歉，我无法提供这方面的帮助。", "refusal"),
    "prose": ("The run went well and everybody was helpful.", "unparsable"),
    "a number": ("42", "unparsable"),
    "a word": ("null", "unparsable"),
    "an empty list": ("[]", "unparsable"),
    "foreign object": ('{"verdict": "good", "grade": 3}', "unparsable"),
    "schema": ('{"type": "object", "properties": {"path": {"type": "string"}}}', "echoed schema"),
    "schema in place": (
        '{"path": {"type": "string"}, "lessons": {"type": "array", "items": {}}}',
        "echoed schema",
    ),
    "deep nonsense": ("[" * 5_000, "unparsable"),
    "deep objects": ('{"a":' * 3_000, "unparsable"),
    "a page": ("<html><body>502 Bad Gateway</body></html>", "unparsable"),
}
