"""Specs that must be refused, as a user would write them by mistake."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import pytest
from click.testing import CliRunner

from quadgen.cli.main import cli

if TYPE_CHECKING:
    from pathlib import Path

MODEL = '[service.a]\nmodel = "org/m"\n'


class Bad(NamedTuple):
    name: str
    text: str
    line: int | None
    key: str
    code: str
    words: str


BAD = [
    Bad("not toml", "[service.a\n", 1, "", "no-toml", "TOML"),
    Bad("text without quotes", "[service.a]\nmodel = org/m\n", 2, "", "no-toml", "TOML"),
    Bad("a key twice", MODEL + 'model = "b"\n', 3, "", "no-toml", "TOML"),
    Bad("a table twice", MODEL + "[service.a]\n", 3, "", "no-toml", "TOML"),
    Bad("nothing in it", "", None, "", "no-service", "no service"),
    Bad("defaults alone", '[defaults]\nimage = "a/b:1"\n', None, "", "no-service", "no service"),
    Bad("unknown table", MODEL + "[servcie.b]\n", 3, "servcie", "unknown-key", "servcie"),
    Bad("key at the top", 'model = "org/m"\n', 1, "model", "unknown-key", "at the top"),
    Bad("service is text", 'service = "a"\n', 1, "service", "not-a-table", "not a table"),
    Bad("one service is text", '[service]\na = "org/m"\n', 2, "service.a", "not-a-table", "not a table"),
    Bad("no model", "[service.a]\n", 1, "service.a.model", "missing-key", "model is missing"),
    Bad("misspelt key", MODEL + "lissten = 8000\n", 3, "service.a.lissten", "unknown-key", "lissten"),
    Bad("underscore for dash", MODEL + 'served_name = "x"\n', 3, "service.a.served_name", "unknown-key", "served"),
    Bad("misspelt key in defaults", "[defaults]\nimgae = 1\n" + MODEL, 2, "defaults.imgae", "unknown-key", "imgae"),
    Bad("name given as a key", MODEL + 'name = "b"\n', 3, "service.a.name", "unknown-key", "table"),
    Bad("blank in a name", '[service."a b"]\nmodel = "org/m"\n', 1, 'service."a b"', "bad-service-name", "a b"),
    Bad("slash in a name", '[service."a/b"]\nmodel = "org/m"\n', 1, 'service."a/b"', "bad-service-name", "a/b"),
    Bad("template as a name", '[service."a@"]\nmodel = "org/m"\n', 1, 'service."a@"', "bad-service-name", "a@"),
    Bad("unit as a name", '[service."a.service"]\nmodel = "org/m"\n', 1, 'service."a.service"', "bad-service-name", "ends like"),
    Bad("name of 201 letters", f'[service.{"a" * 201}]\nmodel = "org/m"\n', 1, f"service.{'a' * 201}", "bad-service-name", "200"),
    Bad("newline in a name", '[service."a\\nb"]\nmodel = "org/m"\n', 1, 'service."a\nb"', "bad-service-name", "\\n"),
    Bad("model is a number", "[service.a]\nmodel = 3\n", 2, "service.a.model", "bad-type", "not text"),
    Bad("model is a relative path", '[service.a]\nmodel = "./m"\n', 2, "service.a.model", "bad-model", "./m"),
    Bad("model with the command", '[service.a]\nmodel = "vllm serve org/m"\n', 2, "service.a.model", "vllm-serve", "vllm serve"),
    Bad("model with options", '[service.a]\nmodel = "org/m --port 1"\n', 2, "service.a.model", "bad-model", "org/m"),
    Bad("model path with dots", '[service.a]\nmodel = "/a/../b"\n', 2, "service.a.model", "path-with-dots", ".."),
    Bad("empty model", '[service.a]\nmodel = ""\n', 2, "service.a.model", "empty", "empty"),
    Bad("newline in a value", MODEL + 'revision = "a\\nb"\n', 3, "service.a.revision", "control-character", "\\n"),
    Bad("blank at the end", MODEL + 'revision = "a "\n', 3, "service.a.revision", "outer-blank", "blank"),
    Bad("served name twice", MODEL + 'served-name = ["x", "x"]\n', 3, "service.a.served-name", "twice", "twice"),
    Bad("unknown accelerator", MODEL + 'accelerator = "nvida"\n', 3, "service.a.accelerator", "bad-choice", "nvidia"),
    Bad("gpu is negative", MODEL + "gpus = [-1]\n", 3, "service.a.gpus[0]", "bad-gpu", "-1"),
    Bad("gpu is a word", MODEL + 'gpus = ["big"]\n', 3, "service.a.gpus[0]", "bad-gpu", "big"),
    Bad("gpu twice", MODEL + "gpus = [1, 1]\n", 3, "service.a.gpus", "gpu-twice", "twice"),
    Bad("all and one gpu", MODEL + 'gpus = ["all", 0]\n', 3, "service.a.gpus", "gpu-twice", "all"),
    Bad("gpu without accelerator", MODEL + 'accelerator = "none"\ngpus = [0]\n', 4, "service.a.gpus", "gpu-without-accelerator", "none"),
    Bad("port too large", MODEL + 'listen = "127.0.0.1:65536"\n', 3, "service.a.listen", "bad-listen", "65536"),
    Bad("port is negative", MODEL + "listen = -8000\n", 3, "service.a.listen", "bad-listen", "-8000"),
    Bad("no port", MODEL + 'listen = "127.0.0.1"\n', 3, "service.a.listen", "bad-listen", "127.0.0.1"),
    Bad("host name to listen on", MODEL + 'listen = "box.lan:8000"\n', 3, "service.a.listen", "bad-listen", "box.lan"),
    Bad("IPv6 without brackets", MODEL + 'listen = "::1:8000"\n', 3, "service.a.listen", "bad-listen", "::1:8000"),
    Bad("address twice", MODEL + "listen = [8000, 8000]\n", 3, "service.a.listen", "twice", "8000"),
    Bad("port of another service", MODEL + '[service.b]\nmodel = "org/n"\nlisten = "0.0.0.0:8000"\napi-key = "k"\n', 5, "service.b.listen", "port-twice", "a, too"),
    Bad("default port of another service", MODEL + '[service.b]\nmodel = "org/n"\n', 3, "service.b.listen", "port-twice", "a, too"),
    Bad("key in plain text", MODEL + 'hf-token = "hf_aaaaaaaaaaaaaaaaaaaaaaaa"\n', 3, "service.a.hf-token", "secret-in-plain-text", "looks like the secret"),
    Bad("key with a slash", MODEL + 'api-key = "a/b"\n', 3, "service.a.api-key", "bad-secret-name", "no name of a Podman secret"),
    Bad("offline is text", MODEL + 'offline = "yes"\n', 3, "service.a.offline", "bad-type", "true or false"),
    Bad("option is a date", MODEL + "[service.a.serve]\nseed = 2026-01-01\n", 4, "service.a.serve.seed", "bad-option-value", "date"),
    Bad("option that listen owns", MODEL + "[service.a.serve]\nport = 1\n", 4, "service.a.serve.port", "owned-option", "listen"),
    Bad("variable name", MODEL + '[service.a.env]\n"A-B" = "x"\n', 4, "service.a.env.A-B", "bad-variable-name", "A-B"),
    Bad("variable is true", MODEL + "[service.a.env]\nA = true\n", 4, "service.a.env.A", "bad-variable-value", "true"),
    Bad("variable is a list", MODEL + "[service.a.env]\nA = [1]\n", 4, "service.a.env.A", "bad-variable-value", "[1]"),
    Bad("relative env file", MODEL + 'env-file = "x.env"\n', 3, "service.a.env-file", "relative-path", "x.env"),
    Bad("secret without a name", MODEL + '[service.a.secrets]\nA = { type = "env" }\n', 4, "service.a.secrets.A.secret", "missing-key", "secret is missing"),
    Bad("secret for a bad variable", MODEL + '[service.a.secrets]\n"/run/x" = "s"\n', 3, "service.a.secrets", "bad-variable-name", "/run/x"),
    Bad("mode for a variable", MODEL + '[service.a.secrets]\nA = { secret = "s", mode = "0400" }\n', 3, "service.a.secrets", "bad-secret-field", "mode"),
    Bad("bad mode", MODEL + '[service.a.secrets]\nA = { secret = "s", type = "mount", mode = "9" }\n', 4, "service.a.secrets.A.mode", "bad-mode", "octal"),
    Bad("volume without target", MODEL + 'volumes = ["/models"]\n', 3, "service.a.volumes[0]", "bad-volume", "/models"),
    Bad("relative volume", MODEL + 'volumes = ["./m:/m"]\n', 3, "service.a.volumes[0]", "relative-path", "./m"),
    Bad("relative target", MODEL + 'volumes = ["/m:m"]\n', 3, "service.a.volumes[0].target", "relative-path", "inside"),
    Bad("volume option", MODEL + 'volumes = ["/m:/m:readonly"]\n', 3, "service.a.volumes[0]", "bad-volume-option", "readonly"),
    Bad("ro and rw", MODEL + 'volumes = ["/m:/m:ro,rw"]\n', 3, "service.a.volumes[0]", "bad-volume-option", "exclude"),
    Bad("relabelled home", MODEL + 'volumes = ["~:/m:Z"]\n', 3, "service.a.volumes[0]", "relabel-of-shared-folder", "relabel"),
    Bad("relabelled system", MODEL + 'volumes = ["/etc:/m:z"]\n', 3, "service.a.volumes[0]", "relabel-of-shared-folder", "relabel"),
    Bad("target twice", MODEL + 'volumes = ["/a:/m", "/b:/m"]\n', 3, "service.a.volumes", "target-twice", "/m"),
    Bad("device", MODEL + 'devices = ["fuse"]\n', 3, "service.a.devices[0]", "bad-device", "fuse"),
    Bad("keep-groups and more", MODEL + 'groups = ["keep-groups", "video"]\n', 3, "service.a.groups", "keep-groups-alone", "alone"),
    Bad("shm size", MODEL + 'shm-size = "16 gigs"\n', 3, "service.a.shm-size", "bad-size", "16 gigs"),
    Bad("shm size of nothing", MODEL + 'shm-size = "0g"\n', 3, "service.a.shm-size", "bad-size", "0g"),
    Bad("shm size with host IPC", MODEL + 'shm-size = "1g"\nipc = "host"\n', 3, "service.a.shm-size", "shm-with-host-ipc", "exclude"),
    Bad("private IPC", MODEL + 'ipc = "private"\n', 3, "service.a.ipc", "bad-choice", "private"),
    Bad("two modes of network", MODEL + 'network = ["host", "llm.network"]\n', 3, "service.a.network", "network-alone", "host"),
    Bad("random port on the host's network", MODEL + 'network = "host"\nlisten = "127.0.0.1:0"\n', 4, "service.a.listen", "no-random-port", "host's network"),
    Bad("two addresses on the host's network", MODEL + 'network = "host"\nlisten = [8000, 8001]\n', 4, "service.a.listen", "one-address", "exactly one"),
    Bad("no network and a port", MODEL + 'network = "none"\n', 3, "service.a.network", "no-way-in", "network"),
    Bad("ports of a pod", MODEL + '[service.a.quadlet.Container]\nPod = "x.pod"\n', 1, "service.a.listen", "ports-of-a-pod", "pod"),
    Bad("entrypoint as text", MODEL + 'entrypoint = "vllm serve"\n', 3, "service.a.entrypoint", "bad-command", "list of words"),
    Bad("pre-start without a path", MODEL + 'pre-start = [["mkdir", "/x"]]\n', 3, "service.a.pre-start[0]", "relative-path", "mkdir"),
    Bad("capability", MODEL + 'capabilities = ["SYS NICE"]\n', 3, "service.a.capabilities[0]", "bad-capability", "SYS NICE"),
    Bad("unit without ending", MODEL + 'after = ["mnt-models"]\n', 3, "service.a.after[0]", "bad-unit-name", "mnt-models"),
    Bad("slice without ending", MODEL + 'slice = "models"\n', 3, "service.a.slice", "bad-slice", "models"),
    Bad("pids", MODEL + "pids = -2\n", 3, "service.a.pids", "bad-pids", "-2"),
    Bad("pull policy", MODEL + 'pull = "allways"\n', 3, "service.a.pull", "bad-choice", "always"),
    Bad("auto-update of a digest", MODEL + f'image = "a/b@sha256:{"0" * 64}"\nauto-update = "registry"\n', 4, "service.a.auto-update", "pinned-image", "digest"),
    Bad("image with a blank", MODEL + 'image = "a/b :1"\n', 3, "service.a.image", "bad-image", "blank"),
    Bad("duration", MODEL + '[service.a.probe]\nstartup-timeout = "soon"\n', 4, "service.a.probe.startup-timeout", "bad-duration", "soon"),
    Bad("duration of nothing", MODEL + "[service.a.probe]\ninterval = 0\n", 4, "service.a.probe.interval", "bad-duration", "0"),
    Bad("probe mode", MODEL + '[service.a.probe]\nmode = "of"\n', 4, "service.a.probe.mode", "bad-choice", "off"),
    Bad("no attempts", MODEL + "[service.a.restart]\nattempts = 0\n", 4, "service.a.restart.attempts", "bad-type", "0"),
    Bad("window too short", MODEL + '[service.a.restart]\nwindow = "20s"\n', 4, "service.a.restart.window", "window-too-short", "never reached"),
    Bad("delay that shrinks", MODEL + '[service.a.restart]\ndelay = "10min"\n', 3, "service.a.restart", "bad-delay", "below delay"),
    Bad("probe is text", MODEL + 'probe = "off"\n', 3, "service.a.probe", "bad-type", "{ key = value }"),
    Bad("labels are a list", MODEL + 'labels = ["a=b"]\n', 3, "service.a.labels", "bad-type", "not a table"),
    Bad("secret is a list", MODEL + "[service.a.secrets]\nA = [1]\n", 4, "service.a.secrets.A", "bad-type", "not a table"),
    Bad("volume is a number", MODEL + "volumes = [1]\n", 3, "service.a.volumes[0]", "bad-type", "not a table"),
    Bad("volumes are text", MODEL + 'volumes = "/a:/a"\n', 3, "service.a.volumes", "bad-type", "not a list"),
    Bad("options of a volume are text", MODEL + 'volumes = [{ source = "/a", target = "/a", options = "ro" }]\n', 3, "service.a.volumes[0].options", "bad-type", "not a list"),
    Bad("key of a volume", MODEL + 'volumes = [{ source = "/a", target = "/a", opts = ["ro"] }]\n', 3, "service.a.volumes[0].opts", "unknown-key", "options"),
    Bad("key of a secret", MODEL + '[service.a.secrets]\nA = { secret = "s", typ = "env" }\n', 4, "service.a.secrets.A.typ", "unknown-key", "type"),
    Bad("key of the probe", MODEL + "[service.a.probe]\nintervall = 1\n", 4, "service.a.probe.intervall", "unknown-key", "interval"),
    Bad("label called name", MODEL + "[service.a.labels]\nname = 1\n", 4, "service.a.labels.name", "bad-type", "not text"),
    Bad("too many failures", MODEL + "[service.a.probe]\nfailures = 101\n", 4, "service.a.probe.failures", "bad-type", "lower it to 100"),
    Bad("key of a companion", MODEL + "[volume.x]\nLabel = 1.5\n", 4, "volume.x.Label", "bad-unit-value", "1.5"),
    Bad("section of the escape hatch", MODEL + "[service.a.quadlet.Contianer]\nA = 1\n", 3, "service.a.quadlet.Contianer", "unknown-key", "Contianer"),
    Bad("key of the escape hatch", MODEL + "[service.a.quadlet.Container]\nShmsize = 1\n", 4, "service.a.quadlet.Container.Shmsize", "unknown-key", "Shmsize"),
    Bad("second line in the escape hatch", MODEL + '[service.a.quadlet.Container]\nTimezone = "x\\nExec=y"\n', 4, "service.a.quadlet.Container.Timezone", "", "line break"),
    Bad("Exec in the escape hatch", MODEL + '[service.a.quadlet.Container]\nExec = "y"\n', 4, "service.a.quadlet.Container.Exec", "", "Exec"),
    Bad("argument of 131072 bytes", MODEL + f'[service.a.serve]\nchat-template = "{"y" * 131072}"\n', 3, "service.a.serve", "", "131072"),
    Bad("U+0080 in an argument", MODEL + '[service.a.serve]\nchat-template = "\\u0080"\n', 3, "service.a.serve", "", "U+0080"),
    Bad("newline in a label's name", MODEL + '[service.a.labels]\n"a\\nb" = "c"\n', 4, 'service.a.labels."a\nb"', "control-character", "\\n"),
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
def test_a_bad_spec_is_refused_with_its_place(bad: Bad, tmp_path: Path, own_home: Path) -> None:
    spec = tmp_path / "spec" / "quadgen.toml"
    spec.parent.mkdir()
    spec.write_text(bad.text, encoding="utf-8")
    answers = {}
    for command in (
        ["check", "--json"],
        ["check"],
        ["install"],
        ["render", "--output", str(tmp_path / "out")],
    ):
        done = CliRunner().invoke(cli, [*command, "--file", str(spec)])
        assert done.exit_code == 2, done.output
        assert done.exception is None or isinstance(done.exception, SystemExit)
        answers[command[0] + command[-1]] = done
    findings = json.loads(answers["check--json"].stdout)
    errors = [finding for finding in findings if finding["severity"] == "error"]
    found = next(error for error in errors if (error["key"], error["line"]) == (bad.key, bad.line))
    assert found["file"] == str(spec)
    assert bad.code in {found["code"], ""}
    assert bad.words in found["message"] + found["remedy"]
    assert found["remedy"]
    assert f"{spec}:{bad.line}" in answers["checkcheck"].stderr or bad.line is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["spec"]
    assert list(own_home.iterdir()) == []
    assert [path.name for path in spec.parent.iterdir()] == ["quadgen.toml"]


def test_a_secret_in_the_wrong_place_is_not_repeated(tmp_path: Path) -> None:
    spec = tmp_path / "quadgen.toml"
    spec.write_text(MODEL + 'hf-token = "hf_abcdefghijklmnopqrst/"\napi-key = 12345678\n', encoding="utf-8")
    done = CliRunner().invoke(cli, ["check", "--file", str(spec)])
    assert done.exit_code == 2
    assert "hf_abc" not in done.output
    assert "12345678" not in done.output


def test_all_errors_are_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    spec = tmp_path / "quadgen.toml"
    spec.write_text('[defaults]\nshm-size = "x"\n[service.a]\npids = "y"\ngpus = "z"\n', encoding="utf-8")
    done = CliRunner().invoke(cli, ["check", "--json", "--file", str(spec)])
    assert [(finding["line"], finding["key"]) for finding in json.loads(done.stdout)] == [
        (2, "defaults.shm-size"),
        (3, "service.a.model"),
        (4, "service.a.pids"),
        (5, "service.a.gpus"),
    ]


def test_an_error_in_defaults_is_told_once_for_all_services(tmp_path: Path) -> None:
    spec = tmp_path / "quadgen.toml"
    text = '[defaults]\nshm-size = "x"\n' + MODEL + '[service.b]\nmodel = "org/n"\nlisten = 8001\n'
    spec.write_text(text, encoding="utf-8")
    done = CliRunner().invoke(cli, ["check", "--json", "--file", str(spec)])
    assert [finding["key"] for finding in json.loads(done.stdout)] == ["defaults.shm-size"]
