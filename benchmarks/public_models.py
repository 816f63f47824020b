"""Models of torchvision, timm and transformers at the sizes that their authors published, with random weights.

A row says which package it needs and how it is made; made(row, batch) returns the module in eval mode and its inputs,
all positional. A directory of Python files adds its own: each has a function models() that yields (name, module in
eval mode, keyword inputs). Whatever stands in torch's place when this module is imported makes them.
"""

import importlib.util
import inspect
import sys
from dataclasses import dataclass
from pathlib import Path

import torch
from torch_models import spread_norms, timm_model, torchvision_model

TORCHVISION = """
    resnet18 resnet50 resnext50_32x4d wide_resnet50_2 vgg11_bn alexnet squeezenet1_1 densenet121 googlenet mobilenet_v2
    mobilenet_v3_large mnasnet1_0 shufflenet_v2_x1_0 efficientnet_b0 efficientnet_v2_s regnet_y_400mf convnext_tiny
    vit_b_32 swin_t maxvit_t deeplabv3_mobilenet_v3_large fcn_resnet50
""".split()
TIMM = """
    seresnet50 resnetv2_50 res2net50_26w_4s resnest26d ecaresnet26t mobilenetv4_conv_small tf_efficientnet_lite0
    mixnet_s ghostnet_100 regnetx_008 convnextv2_atto vit_tiny_patch16_224 deit_small_patch16_224 mixer_s32_224
    resmlp_12_224 gmlp_s16_224 levit_128s poolformer_s12 edgenext_xx_small mobilevit_xxs pit_ti_224 cspresnet50
    repvgg_a0 fastvit_t8 efficientformer_l1
""".split()
WORDS = 128
# Name, class, class of its settings, settings in place of the published ones, kind of input.
TRANSFORMERS = [
    ("bert-base", "BertModel", "BertConfig", {}, "words"),
    ("distilbert", "DistilBertModel", "DistilBertConfig", {}, "words"),
    ("albert-base", "AlbertModel", "AlbertConfig", {"hidden_size": 768, "num_attention_heads": 12,
                                                    "intermediate_size": 3072}, "words"),
    ("electra-small", "ElectraModel", "ElectraConfig", {}, "words"),
    ("mpnet-base", "MPNetModel", "MPNetConfig", {}, "words"),
    ("minilm-l6", "BertModel", "BertConfig", {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12,
                                              "intermediate_size": 1536}, "words"),
    ("gpt2", "GPT2LMHeadModel", "GPT2Config", {"use_cache": False}, "words"),
    ("opt-125m", "OPTForCausalLM", "OPTConfig", {"hidden_size": 768, "ffn_dim": 3072, "num_hidden_layers": 12,
                                                 "num_attention_heads": 12, "use_cache": False}, "words"),
    ("pythia-70m", "GPTNeoXForCausalLM", "GPTNeoXConfig", {"hidden_size": 512, "num_hidden_layers": 6,
                                                          "num_attention_heads": 8, "intermediate_size": 2048,
                                                          "use_cache": False}, "words"),
    ("smollm-135m", "LlamaForCausalLM", "LlamaConfig", {"hidden_size": 576, "intermediate_size": 1536,
                                                        "num_hidden_layers": 30, "num_attention_heads": 9,
                                                        "num_key_value_heads": 3, "vocab_size": 49152,
                                                        "use_cache": False}, "words"),
    ("mamba-130m", "MambaForCausalLM", "MambaConfig", {"num_hidden_layers": 4, "use_cache": False}, "words"),
    ("t5-small", "T5EncoderModel", "T5Config", {}, "words"),
    ("vit-base", "ViTModel", "ViTConfig", {}, "image"),
    ("dinov2-small", "Dinov2Model", "Dinov2Config", {"hidden_size": 384, "num_attention_heads": 6,
                                                     "image_size": 224}, "image"),
    ("segformer-b0", "SegformerModel", "SegformerConfig", {}, "image"),
    ("clip-text", "CLIPTextModel", "CLIPTextConfig", {}, "77 words"),
    ("wav2vec2-base", "Wav2Vec2Model", "Wav2Vec2Config", {}, "sound"),
]  # fmt: skip
PIXELS = 224


@dataclass(frozen=True)
class PublicModel:
    name: str
    package: str  # that has to be installed; "" for one of a directory
    make: object  # make(batch) returns the module and its inputs

    @property
    def is_here(self):
        return not self.package or importlib.util.find_spec(self.package) is not None


def image(batch):
    return torch.randn(batch, 3, PIXELS, PIXELS)


def words(config, batch, length):
    ids = torch.randint(0, config.vocab_size, (batch, length))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


INPUTS = {
    "words": lambda config, batch: words(config, batch, WORDS),
    "77 words": lambda config, batch: words(config, batch, 77),
    "image": lambda config, batch: {"pixel_values": image(batch)},
    "sound": lambda config, batch: {"input_values": torch.randn(batch, 16000)},
}


def transformers_model(row, batch):
    import transformers

    _, model, config, settings, kind = row
    config = getattr(transformers, config)(**settings)
    inputs = INPUTS[kind](config, batch)
    return Plain(getattr(transformers, model)(config), tuple(inputs)), tuple(inputs.values())


def first_tensors(result):
    """The tensors of a result that every exporter has, as a tuple."""
    if isinstance(result, torch.Tensor):
        return (result,)
    if isinstance(result, dict):
        return first_tensors(next(iter(result.values())))
    parts = [part for part in result if isinstance(part, torch.Tensor)]
    return tuple(parts) or first_tensors(result[0])


class Plain(torch.nn.Module):
    """Positional inputs, a tuple of tensors as the result: what every contender takes."""

    def __init__(self, model, names=()):
        super().__init__()
        self.model = model
        self.names = names

    def forward(self, *inputs):
        if self.names:
            return first_tensors(self.model(**dict(zip(self.names, inputs))))
        return first_tensors(self.model(*inputs))


def of_directory(directory):
    """The models of its files; the batch is that of their inputs, repeated."""
    rows = []
    for path in sorted(Path(directory).glob("*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        try:
            spec.loader.exec_module(module)
        except ImportError as error:
            print(f"{path.name}: left out: {error}", file=sys.stderr)
            continue
        if inspect.isfunction(getattr(module, "models", None)):
            rows += [given(f"{path.stem}/{name}", model, inputs) for name, model, inputs in module.models()]
    return rows


def given(name, model, inputs):
    def make(batch):
        tensors = tuple(value.repeat(batch, *[1] * (value.dim() - 1)) for value in inputs.values())
        return Plain(model, tuple(inputs)), tensors

    return PublicModel(name, "", make)


def public_models(directory=None):
    rows = [
        PublicModel(f"{package} {name}", package, lambda batch, make=make, name=name: (make(name)[0], (image(batch),)))
        for package, names, make in (("torchvision", TORCHVISION, torchvision_model), ("timm", TIMM, timm_model))
        for name in names
    ]
    for row in TRANSFORMERS:
        make = lambda batch, row=row: transformers_model(row, batch)  # noqa: E731
        rows.append(PublicModel(f"transformers {row[0]}", "transformers", make))
    return rows + (of_directory(directory) if directory else [])


def made(row, batch):
    """(module in eval mode, inputs), the same in each process."""
    torch.manual_seed(0)
    module, inputs = row.make(batch)
    if not isinstance(module, Plain):
        module = Plain(module)
    module.eval()
    with torch.no_grad():
        spread_norms(torch, module)
    return module, inputs
