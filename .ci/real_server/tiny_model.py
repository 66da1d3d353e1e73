"""A tiny model for llama.cpp, made on the spot: `python tiny_model.py FILE`.

Each token has one successor, so what it says under greedy sampling is known, and continues from any of its words. Its
embeddings are one-hot and its only layer adds nothing, so that the output matrix is the table of successors.

- After a question it says `STORY` and ends.
- Weekdays and months go on for ever; a question with "for ever" begins the weekdays.
- Where a grammar forbids the story it says `OBJECT`, a JSON object.
- Told of the JSON protocol (dialect `llama`), it calls the calculator, and answers once the result is there.
"""

import sys
from itertools import pairwise

import gguf
import numpy as np

STORY = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("what", "was", "it", "again", "and", "so", "on", "to", "the", "very", "end."),
)
DAYS = ["Tuesday,", "Wednes", "Thursday,", "Friday,", "Saturday,", "Sunday,", "Monday,"]
MONTHS = [
    *("January,", "February,", "March,", "April,", "May,", "June,"),
    *("July,", "August,", "September,", "October,", "November,", "December,"),
]
OBJECT = ['{"points": [', *(f'"p{number:02}", ' for number in range(20)), '"last"', "]}"]
CALL = ['{"tool_call": ', '{"name": "calculator", ', '"arguments": ', '{"expression": ', '"6 * 7"', "}}}"]
ANSWER = ['{"response": "', "The tool says ", "forty-two.", '"}']
TEMPLATE = """\
{%- for m in messages -%}
{%- if loop.last and m.role == 'assistant' -%}<|answer|>{{ m.content }}
{%- else -%}<|turn|>{{ m.content }}{%- endif -%}
{%- endfor -%}
{%- if messages[-1].role != 'assistant' -%}
{%- if 'for ever' in messages[-1].content -%}<|days|>
{%- elif 'tool_result' in messages[-1].content -%}<|told|>
{%- elif 'Answer with exactly one JSON object' in messages[0].content -%}<|call|>
{%- else -%}<|answer|>{%- endif -%}
{%- endif -%}"""
_CONTROLS = ["<|answer|>", "<|days|>", "<|call|>", "<|told|>", "<|turn|>", "<|end|>"]
_WIDTH = 512  #: at least as many as there are tokens


def chains() -> list[list[str]]:
    """What follows what, each from its start to its end or back to its beginning."""
    story = [STORY[0], *(f" {word}" for word in STORY[1:])]
    days = [f" {day}" for day in DAYS]
    days[2:2] = ["day,"]
    months = [f" {month}" for month in MONTHS]
    return [
        ["<|answer|>", *story, "<|end|>"],
        ["<|days|>", "Monday,", *days, days[0]],
        ["January,", *months[1:], *months[:2]],
        ["<|call|>", *CALL, "<|end|>"],
        ["<|told|>", *ANSWER, "<|end|>"],
        [*OBJECT, "<|end|>"],
    ]


def make(path: str) -> None:
    words = [word for chain in chains() for word in chain if word not in _CONTROLS]
    tokens = ["<unk>", *_CONTROLS, *(f"<0x{byte:02X}>" for byte in range(256)), *dict.fromkeys(words)]
    assert len(tokens) <= _WIDTH, len(tokens)
    at = {token: index for index, token in enumerate(tokens)}
    control, own, byte = gguf.TokenType.CONTROL, gguf.TokenType.USER_DEFINED, gguf.TokenType.BYTE
    kinds = [gguf.TokenType.UNKNOWN, *[control] * len(_CONTROLS), *[byte] * 256]
    kinds += [own] * (len(tokens) - len(kinds))
    after = np.zeros((len(tokens), _WIDTH), dtype=np.float32)
    for chain in chains():
        for before, follower in pairwise(chain):
            after[at[follower], at[before]] = 1.0
    after[at[OBJECT[0]], at["<|answer|>"]] = 0.5
    _write(path, tokens, kinds, at, after)


def _write(path: str, tokens: list[str], kinds: list[int], at: dict[str, int], after: np.ndarray) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(4096)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(8)
    writer.add_head_count_kv(8)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([int(kind) for kind in kinds])
    writer.add_bos_token_id(at["<|turn|>"])
    writer.add_eos_token_id(at["<|end|>"])
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)
    ones, square = np.ones(_WIDTH, dtype=np.float32), np.zeros((_WIDTH, _WIDTH), dtype=np.float32)
    wide = np.zeros((32, _WIDTH), dtype=np.float32)
    writer.add_tensor("token_embd.weight", np.eye(len(tokens), _WIDTH, dtype=np.float32))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        writer.add_tensor(f"blk.0.{name}.weight", square)
    for name in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"blk.0.{name}.weight", ones)
    for name in ("ffn_gate", "ffn_up"):
        writer.add_tensor(f"blk.0.{name}.weight", wide)
    writer.add_tensor("blk.0.ffn_down.weight", np.ascontiguousarray(wide.T))
    writer.add_tensor("output_norm.weight", ones)
    writer.add_tensor("output.weight", after)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    make(sys.argv[1])
