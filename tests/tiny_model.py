"""A model file of some hundred kilobytes with a chat template of choice: it reads everything and
says nonsense.
"""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

_WIDTH, _HEADS, _INNER, _CONTEXT = 32, 2, 64, 16384
_VISIBLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
_HIDDEN = [byte for byte in range(256) if byte not in _VISIBLE]
# byte-level BPE without merges: a letter for each byte, so a prompt has as many tokens as bytes
_BYTES = [chr(byte) if byte in _VISIBLE else chr(256 + _HIDDEN.index(byte)) for byte in range(256)]
_END = "<end>"


def write_model(path: Path, template: str, name: str = "Tiny") -> Path:
    """Write the model file to *path* and return that. Its weights are random, and the same each
    time.
    """
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(name)
    writer.add_context_length(_CONTEXT)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(_INNER)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(_WIDTH // _HEADS)
    tokens = [*_BYTES, _END]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.NORMAL] * 256 + [gguf.TokenType.CONTROL])
    writer.add_token_merges([f"{_BYTES[0]} {_BYTES[1]}"])
    writer.add_eos_token_id(256)
    writer.add_bos_token_id(256)
    writer.add_add_bos_token(False)
    writer.add_chat_template(template)
    numbers = np.random.default_rng(7)
    square = {f"blk.0.attn_{part}.weight": (_WIDTH, _WIDTH) for part in ("q", "k", "v", "output")}
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (len(tokens), _WIDTH),
        "output.weight": (len(tokens), _WIDTH),
        **square,
        "blk.0.ffn_gate.weight": (_INNER, _WIDTH),
        "blk.0.ffn_up.weight": (_INNER, _WIDTH),
        "blk.0.ffn_down.weight": (_WIDTH, _INNER),
    }
    for tensor, shape in shapes.items():
        writer.add_tensor(tensor, numbers.normal(0, 0.3, shape).astype(np.float32))
    for tensor in ("output_norm.weight", "blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"):
        writer.add_tensor(tensor, np.ones(_WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
