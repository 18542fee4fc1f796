"""What the user writes: the spec's models, and how a file becomes one."""

from quadgen.spec.load import Loaded, load
from quadgen.spec.models import Companion, Service, Spec
from quadgen.spec.source import Source, find

__all__ = ["Companion", "Loaded", "Service", "Source", "Spec", "find", "load"]
