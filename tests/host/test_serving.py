"""The main job on a real host: the real `vllm serve` in rootless Podman, from units that quadgen installed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from testhost import tiny_service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .conftest import BootedHost

QUADGEN = "/src/scripts/quadgen"
KEY = 'top secret $KEY with 100% "quotes"'


def spec() -> str:
    more = 'api-key = "tiny-key"\nserve.max-model-len = 256'
    return tiny_service("vllm-tiny", '"127.0.0.1:8021"', more, names='["tiny", "tiny with a blank and 100%"]')


@pytest.fixture
def tiny(host: BootedHost) -> Iterator[BootedHost]:
    host.user(
        "sh",
        "-c",
        'mkdir -p ~/.config/quadgen && cat >~/.config/quadgen/quadgen.toml <<"END"\n' + spec() + "END\n",
    )
    made = host.host.run(["podman", "secret", "create", "--replace", "tiny-key", "-"], input=KEY)
    assert made.returncode == 0, made.stderr
    yield host
    host.user(
        "sh",
        "-c",
        f"{QUADGEN} uninstall --all; rm -f ~/.config/quadgen/quadgen.toml; podman secret rm tiny-key",
    )


def ask(host: BootedHost, path: str, body: dict[str, Any] | None = None, key: str | None = KEY) -> Any:
    words = ["curl", "--silent", "--max-time", "60", f"http://127.0.0.1:8021{path}"]
    if key is not None:
        words += ["--header", f"Authorization: Bearer {key}"]
    if body is not None:
        words += ["--header", "Content-Type: application/json", "--data", json.dumps(body)]
    return json.loads(host.user(*words))


def test_both_commands_of_the_readme_make_a_service(host: BootedHost) -> None:
    host.user(QUADGEN, "install")
    assert (
        host.user("systemctl", "--user", "show", "--property=LoadState", "vllm-qwen").strip()
        == "LoadState=loaded"
    )
    again = host.host.run([QUADGEN, "install"])
    assert again.returncode == 0
    assert "nothing to change" in again.stderr
    host.user(QUADGEN, "uninstall")
    assert (
        host.user("systemctl", "--user", "show", "--property=LoadState", "vllm-qwen").strip()
        == "LoadState=not-found"
    )
    assert host.user("sh", "-c", "ls -A ~/.config/containers/systemd") == ""


def test_a_model_is_served_from_install_to_uninstall(tiny: BootedHost) -> None:
    told = tiny.host.run([QUADGEN, "install"])
    assert told.returncode == 0, told.stderr
    assert "warning" not in told.stderr
    assert "systemctl --user start vllm-tiny" in told.stderr
    tiny.user("systemctl", "--user", "start", "vllm-tiny", timeout=400)

    # A started unit is a serving one: the next request is answered.
    models = ask(tiny, "/v1/models")
    assert [model["id"] for model in models["data"]] == ["tiny", "tiny with a blank and 100%"]
    answer = ask(tiny, "/v1/completions", {"model": "tiny", "prompt": "a b c", "max_tokens": 4})
    assert answer["usage"]["completion_tokens"] == 4
    assert ask(tiny, "/v1/models", key=None) == {"error": "Unauthorized"}

    log = tiny.user("journalctl", "--user", "--unit=vllm-tiny", "--no-pager")
    assert "Application startup complete" in log
    unit = tiny.user("systemctl", "--user", "cat", "vllm-tiny")
    assert KEY not in unit + log
    inside = json.loads(tiny.user("podman", "container", "inspect", "vllm-tiny"))[0]
    assert KEY not in json.dumps(inside)
    assert inside["EffectiveCaps"] in (None, [])
    assert set(inside["HostConfig"]["PortBindings"]["8000/tcp"][0].items()) == {
        ("HostIp", "127.0.0.1"),
        ("HostPort", "8021"),
    }

    tiny.user("systemctl", "--user", "stop", "vllm-tiny")
    removed = tiny.host.run([QUADGEN, "uninstall"])
    assert removed.returncode == 0, removed.stderr
    assert "systemd-vllm-tiny-cache keeps its data" in removed.stderr
    assert tiny.user("sh", "-c", "ls -A ~/.config/containers/systemd") == ""
    assert tiny.user("podman", "ps", "--all", "--quiet") == ""
    left = tiny.user("systemctl", "--user", "list-units", "--all", "--no-legend", "vllm-*", "quadgen-*")
    assert left == ""


def test_a_changed_spec_is_one_change_and_names_what_to_restart(tiny: BootedHost) -> None:
    tiny.user(QUADGEN, "install")
    tiny.user("sh", "-c", "sed -i s/256/128/ ~/.config/quadgen/quadgen.toml")
    planned = json.loads(tiny.user(QUADGEN, "install", "--dry-run", "--json"))
    assert [(change["action"], change["file"]) for change in planned["changes"]] == [
        ("update", "vllm-tiny.container")
    ]
    assert "--max-model-len 256" in tiny.user("systemctl", "--user", "cat", "vllm-tiny")
    tiny.user(QUADGEN, "install")
    assert "--max-model-len 128" in tiny.user("systemctl", "--user", "cat", "vllm-tiny")


def test_an_edit_by_hand_is_kept_and_shown(tiny: BootedHost) -> None:
    tiny.user(QUADGEN, "install")
    file = "~/.config/containers/systemd/quadgen/vllm-tiny.container"
    tiny.user("sh", "-c", f"echo '# mine' >>{file}")
    kept = tiny.host.run([QUADGEN, "install"])
    assert "edited" in kept.stderr
    assert "# mine" in tiny.user("sh", "-c", f"cat {file}")
    tiny.user(QUADGEN, "install", "--overwrite")
    assert "# mine" not in tiny.user("sh", "-c", f"cat {file}")


def test_files_of_others_are_left_alone(tiny: BootedHost) -> None:
    folder = "~/.config/containers/systemd"
    tiny.user(
        "sh",
        "-c",
        f"mkdir -p {folder}/quadgen/vllm-tiny.container.d && echo '[Unit]' >{folder}/quadgen/vllm-tiny.container.d/my.conf",
    )
    tiny.user("sh", "-c", f"printf '[Container]\\nImage=localhost/x:1\\n' >{folder}/mine.container")
    tiny.user(QUADGEN, "install")
    tiny.user(QUADGEN, "uninstall")
    left = tiny.user("sh", "-c", f"cd {folder} && find . -type f | sort")
    assert left.split() == ["./mine.container", "./quadgen/vllm-tiny.container.d/my.conf"]
    tiny.user("sh", "-c", f"rm -r {folder}")


def test_what_the_generator_refuses_is_not_installed(tiny: BootedHost) -> None:
    tiny.user(
        "sh", "-c", "sed -i '/^accelerator/a network = \"missing.network\"' ~/.config/quadgen/quadgen.toml"
    )
    done = tiny.host.run([QUADGEN, "install", "--json"])
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert told["changes"] == []
    errors = [finding["message"] for finding in told["findings"] if finding["severity"] == "error"]
    assert any("missing.network" in message for message in errors)
    assert tiny.user("sh", "-c", "ls -A ~/.config/containers/systemd/quadgen 2>/dev/null || true") == ""
