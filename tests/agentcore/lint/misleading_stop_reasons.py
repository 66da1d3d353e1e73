"""Forty turns whose stop reason lies, as providers answer them."""

from tests.agentcore.lint.payloads import Answer
from tests.agentcore.lint.turns import TEXTS, Told

PROSE = (
    "The agent keeps a budget for the whole turn. Every attempt is counted against it, whether or not it helped. "
    "When the budget is used up, the answer is returned as it stands"
)
CODE = "A script:\n\n```python\nimport json\n\ndef load(path):\n    with open(path) as lines:\n        return [json"
FORM = '{"name": "Whystop", "limits": {"max_tokens": 400, "max_continuations": 3}, "notes": ["first", "sec'
LISTED = "To restart it:\n\n- Stop the worker.\n- Wait for its jobs to end.\n- Then start the new one and see whether"
THOUGHT = "The user wants to know why the turn ended. Let me go through every limit one by one and compare"
GERMAN = "Der Agent hat ein Budget für den ganzen Zug. Jeder Versuch zählt. Ist es verbraucht, wird die Antwort so"
CHINESE = "代理有一个预算。每次尝试都会计入预算。当预算用完时，系统会把目前为止生成的答案原样返回给用户并且附上一条说明"
RUSSIAN = "У агента есть бюджет на весь ход. Каждая попытка учитывается. Когда бюджет исчерпан, ответ возвращается как"
BRACKET = "There are three kinds of limits. The first bounds one call (max_tokens, which most providers clamp, and 2"

LIES = (
    Told("every token used, and stop", "openai", 400, Answer(TEXTS[0], used=400), "output_at_cap"),
    Told("every token used, and end_turn", "anthropic", 1024, Answer(TEXTS[27], used=1024), "output_at_cap"),
    Told("every token used, and STOP", "gemini", 256, Answer(TEXTS[26], used=256), "output_at_cap"),
    Told("thoughts and text together", "gemini", 512, Answer("Because.", used=512, reasoned=480), "output_at_cap"),
    Told("every token used on Bedrock", "bedrock", 200, Answer(TEXTS[1], used=200), "output_at_cap"),
    Told("num_predict used up", "ollama", 128, Answer(TEXTS[20], used=128), "output_at_cap"),
    Told("COMPLETE at the cap", "cohere", 300, Answer(TEXTS[21], used=300), "output_at_cap"),
    Told("completed at the cap", "openai_responses", 64, Answer(TEXTS[36], used=64), "output_at_cap"),
    Told("a protocol's answer at the cap", "llama", 90, Answer(TEXTS[31], used=90), "output_at_cap"),
    Told("counted one too many", "openai", 400, Answer(TEXTS[48], used=401), "output_at_cap"),
    Told("reasoning not held to the cap", "openai", 100, Answer(TEXTS[66], used=400, reasoned=300), "output_at_cap"),
    Told("a whole call at the cap", "openai", 50, Answer(used=50, call=("add", '{"a": 1}')), "output_at_cap"),
    Told("JSON cut, nothing counted", "openai", 400, Answer(FORM), "unclosed_json"),
    Told("JSON cut below our cap by a server's own", "ollama", 4096, Answer(FORM, used=128), "unclosed_json"),
    Told("a list cut after a comma", "cohere", 500, Answer('[{"id": 1}, {"id": 2},', used=20), "unclosed_json"),
    Told(
        "JSON cut in a number", "bedrock", 900, Answer('{"total": 12.5, "parts": [1, 2, 3.', used=22), "unclosed_json"
    ),
    Told(
        "arguments cut under tool_calls",
        "openai",
        900,
        Answer(used=40, call=("mail", '{"to": "a@example.org", "body": "Dear')),
        "unclosed_json",
    ),
    Told("the continuation of JSON, cut again", "anthropic", 400, Answer('ond", "thi', used=9), "unclosed_json", FORM),
    Told("a fence open, nothing counted", "openai", 400, Answer(CODE), "unclosed_fence"),
    Told("a fence open below the cap", "anthropic", 4096, Answer(CODE, used=700), "unclosed_fence"),
    Told("a fence of tildes", "gemini", 800, Answer("So:\n~~~sql\nSELECT 1,\n", used=30), "unclosed_fence"),
    Told(
        "a fence in a list", "openai_responses", 800, Answer("1. Run\n   ```bash\n   make", used=12), "unclosed_fence"
    ),
    Told("a fence within a fence", "cohere", 800, Answer("```md\n# A\n```bash\nls -l", used=30), "unclosed_fence"),
    Told(
        "a fence that a continuation leaves open",
        "openai",
        90,
        Answer(".loads(line) for", used=9),
        "unclosed_fence",
        CODE,
    ),
    Told("a sentence, one token below the cap", "openai", 60, Answer(PROSE, used=59), "unclosed_sentence"),
    Told("a sentence, nothing counted", "ollama", 45, Answer(PROSE), "unclosed_sentence"),
    Told("a sentence in German", "anthropic", 50, Answer(GERMAN, used=49), "unclosed_sentence"),
    Told("a sentence in Chinese", "openai", 60, Answer(CHINESE, used=59), "unclosed_sentence"),
    Told("a sentence in Russian", "gemini", 80, Answer(RUSSIAN, used=79), "unclosed_sentence"),
    Told("an item of a list", "bedrock", 55, Answer(LISTED, used=54), "unclosed_sentence"),
    Told("after a comma", "cohere", 60, Answer(f"{PROSE[:96]},", used=59), "unclosed_sentence"),
    Told("a bracket", "openai", 60, Answer(BRACKET, used=59), "unclosed_bracket"),
    Told(
        "code without a fence",
        "ollama",
        13,
        Answer("total = sum(price[0] for price in rows if price[1"),
        "unclosed_bracket",
    ),
    Told("reasoning alone, and length", "openai", 100, Answer("", "length", 100, THOUGHT, 100), "reasoning_ate_budget"),
    Told("reasoning alone, and stop", "openai", 100, Answer("", "stop", 100, THOUGHT, 100), "reasoning_ate_budget"),
    Told("hidden thoughts alone", "gemini", 64, Answer("", "MAX_TOKENS", 64, "", 64), "reasoning_ate_budget"),
    Told(
        "thoughts in the text, never closed", "ollama", 40, Answer(f"<think>{THOUGHT}", used=30), "reasoning_ate_budget"
    ),
    Told(
        "tool_calls over a native max_output_tokens",
        "openai",
        900,
        Answer(PROSE, "tool_calls", 30, more=(("native_finish_reason", "max_output_tokens"),)),
        "relabelled",
    ),
    Told(
        "llama.cpp's flag beside stop",
        "openai",
        900,
        Answer(PROSE, used=None, more=(("truncated", True),)),
        "relabelled",
    ),
    Told("a bridge's own word at the cap", "openai", 400, Answer(TEXTS[0], "token_limit", 400), "relabelled"),
)
