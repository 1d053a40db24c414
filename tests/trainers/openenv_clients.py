"""OpenEnv's clients of its coding environment, unmodified, against a running service. The URL of the service is PROOFBOX_URL."""

import asyncio
import importlib.util
import os
import sys

from checks import check, run_checks
from sources import OPENENV, parent

[FOLDER] = importlib.util.find_spec("openenv").submodule_search_locations
# The packages import servers.
for name in ("core", "core.env_server"):
    parent(f"openenv.{name}", os.path.join(FOLDER, *name.split(".")))
sys.path.insert(0, str(OPENENV.unpack() / "envs"))

from coding_env import CodeAction, CodingEnv  # noqa: E402
from openenv.core.generic_client import GenericEnvClient  # noqa: E402

URL = os.environ["PROOFBOX_URL"] + "/openenv"


@check
def an_episode_has_steps_and_a_state():
    with CodingEnv(base_url=URL).sync() as env:
        first = env.reset()
        assert (first.observation.stdout, first.observation.exit_code, first.done, first.reward) == ("", 0, False, None), first
        begun = env.state()
        assert begun.step_count == 0 and begun.episode_id, begun
        done = env.step(CodeAction(code="print('Hello, World!')"))
        assert (done.observation.stdout, done.observation.stderr, done.observation.exit_code) == ("Hello, World!\n", "", 0), done
        env.step(CodeAction(code="x = 20"))
        assert env.step(CodeAction(code="print(x)\nx + 1")).observation.stdout == "20\n21"
        failed = env.step(CodeAction(code="1 / 0"))
        assert failed.observation.exit_code == 1 and "ZeroDivisionError" in failed.observation.stderr, failed
        state = env.state()
        assert (state.step_count, state.last_exit_code, state.episode_id) == (4, 1, begun.episode_id), state
        env.reset()
        assert env.state().episode_id != begun.episode_id and env.state().step_count == 0
        assert "NameError" in env.step(CodeAction(code="x")).observation.stderr


@check
def environments_are_apart_and_work_at_once():
    async def one(number):
        async with CodingEnv(base_url=URL) as env:
            await env.reset()
            await env.step(CodeAction(code=f"x = {number}"))
            await asyncio.sleep(0.1)
            return (await env.step(CodeAction(code="x"))).observation.stdout

    async def all_of_them():
        return await asyncio.gather(*map(one, range(8)))

    assert asyncio.run(all_of_them()) == [str(number) for number in range(8)]


@check
def errors_are_told_and_the_environment_goes_on():
    with GenericEnvClient(base_url=URL).sync() as env:
        for message in ({"source": "1"}, {"code": 1}):
            try:
                env.step(message)
                raise AssertionError("it was run")
            except RuntimeError as error:
                assert "VALIDATION_ERROR" in str(error), error
        assert env.step({"code": "6 * 7"}).observation["stdout"] == "42"

    async def unknown():
        client = GenericEnvClient(base_url=URL)
        async with client:
            await client._ws.send('{"type": "mcp"}')
            assert "UNKNOWN_TYPE" in await client._ws.recv()
            await client._ws.send("{")
            assert "INVALID_JSON" in await client._ws.recv()
            assert (await client.step({"code": "1"})).observation["stdout"] == "1"

    asyncio.run(unknown())


@check
def a_limit_ends_a_step_and_not_the_environment():
    with CodingEnv(base_url=URL).sync() as env:
        env.reset()
        slow = env.step(CodeAction(code="x = bytearray(10**10)"))
        assert slow.observation.exit_code == 1 and slow.observation.stderr, slow
        assert env.step(CodeAction(code="1 + 1")).observation.stdout == "2"


if __name__ == "__main__":
    run_checks()
