"""Write a random model in the Qwen3 layout, small enough to load at once; its text is noise.

Run by the vLLM environment's Python, which has numpy, safetensors and tokenizers.
"""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

if TYPE_CHECKING:
    from collections.abc import Iterator

END, START, STOP = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
CHAT = (
    "{%- for message in messages -%}"
    "{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}"
)
TEXT = (
    "one unit file serves one model",
    "the start is over when the model answers",
    "a b c d e f g h 0 1 2 3 4 5",
)


@dataclass(frozen=True)
class Shape:
    """The sizes of the model."""

    layers: int = 2
    hidden: int = 64
    heads: int = 2
    kv_heads: int = 1
    head: int = 32
    inner: int = 128
    words: int = 384
    context: int = 512
    rank: int = 4


def layer_tensors(shape: Shape) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Name and size of every tensor of one layer; the one-dimensional ones are norms."""
    query, value = shape.heads * shape.head, shape.kv_heads * shape.head
    yield from (("input_layernorm", (shape.hidden,)), ("post_attention_layernorm", (shape.hidden,)))
    yield from (("self_attn.q_norm", (shape.head,)), ("self_attn.k_norm", (shape.head,)))
    yield from (("self_attn.q_proj", (query, shape.hidden)), ("self_attn.k_proj", (value, shape.hidden)))
    yield from (("self_attn.v_proj", (value, shape.hidden)), ("self_attn.o_proj", (shape.hidden, query)))
    yield from (("mlp.gate_proj", (shape.inner, shape.hidden)), ("mlp.up_proj", (shape.inner, shape.hidden)))
    yield "mlp.down_proj", (shape.hidden, shape.inner)


def weights(shape: Shape) -> dict[str, np.ndarray]:
    """All tensors: norms are one, the rest small and random, the same in every run."""
    random = np.random.default_rng(7)
    sizes = {"embed_tokens": (shape.words, shape.hidden), "norm": (shape.hidden,)}
    for layer in range(shape.layers):
        sizes |= {f"layers.{layer}.{name}": size for name, size in layer_tensors(shape)}
    return {
        f"model.{name}.weight": (np.ones(size) if len(size) == 1 else random.normal(0, 0.05, size)).astype(
            "float16"
        )
        for name, size in sizes.items()
    }


def config(shape: Shape) -> dict[str, object]:
    """The model's config.json."""
    return {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "num_hidden_layers": shape.layers,
        "hidden_size": shape.hidden,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head,
        "intermediate_size": shape.inner,
        "vocab_size": shape.words,
        "max_position_embeddings": shape.context,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "tie_word_embeddings": True,
        "torch_dtype": "float16",
        "bos_token_id": 0,
        "eos_token_id": 2,
        "pad_token_id": 0,
    }


def write_tensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """Write one safetensors file that other users, and so other user namespaces, can read."""
    save_file(tensors, str(path), metadata={"format": "pt"})
    path.chmod(0o644)


def write_json(path: Path, content: object) -> None:
    """Write one JSON file."""
    path.write_text(json.dumps(content, indent=2) + "\n")


def write_tokenizer(folder: Path, shape: Shape) -> None:
    """Train a byte-level tokenizer on a few lines, so that any text has tokens."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteDecoder()
    trainer = BpeTrainer(
        vocab_size=shape.words,
        special_tokens=[END, START, STOP],
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT * 4, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": STOP,
        "pad_token": END,
        "chat_template": CHAT,
    }
    write_json(folder / "tokenizer_config.json", settings | {"model_max_length": shape.context})


def write_model(folder: Path, shape: Shape) -> None:
    """Write everything that a server wants to find in a model's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(folder / "model.safetensors", weights(shape))
    write_json(folder / "config.json", config(shape))
    write_json(folder / "generation_config.json", {"eos_token_id": 2, "pad_token_id": 0})
    write_tokenizer(folder, shape)


def write_lora(folder: Path, shape: Shape) -> None:
    """Write a LoRA adapter for the query projections."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(8)
    sizes = {"lora_A": (shape.rank, shape.hidden), "lora_B": (shape.heads * shape.head, shape.rank)}
    tensors = {
        f"base_model.model.model.layers.{layer}.self_attn.q_proj.{name}.weight": random.normal(
            0, 0.02, size
        ).astype("float16")
        for layer in range(shape.layers)
        for name, size in sizes.items()
    }
    write_tensors(folder / "adapter_model.safetensors", tensors)
    adapter = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "r": shape.rank,
        "lora_alpha": 8,
        "bias": "none",
    }
    write_json(
        folder / "adapter_config.json",
        adapter | {"target_modules": ["q_proj"], "base_model_name_or_path": "tiny"},
    )


def main() -> None:
    """Write the model, and with --lora the adapter as well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lora", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    write_model(options.folder, Shape())
    if options.lora:
        write_lora(options.lora, Shape())


if __name__ == "__main__":
    main()
