// A scripted agent that solves a task over MCP by the TypeScript SDK's client, unmodified.
//
//   npm ci && PROOFBOX_URL=http://127.0.0.1:8080 PROOFBOX_BINARY=target/release/proofbox node agent.mjs

import assert from "node:assert/strict";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";

const { PROOFBOX_URL, PROOFBOX_BINARY } = process.env;
const TESTS = "from solution import add\n\ndef test_small():\n    assert add(1, 2) == 3\n\ndef test_none():\n    assert add(0, 0) == 0\n";
const FIGURE = `
import base64
class Figure:
    def _repr_png_(self):
        return base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
Figure()
`;

const transports = {
  http: () => new StreamableHTTPClientTransport(new URL(`${PROOFBOX_URL}/mcp`)),
  stdio: () => new StdioClientTransport({ command: PROOFBOX_BINARY, args: ["--workers", "1", "mcp"], env: process.env }),
};

async function solve(transport) {
  const client = new Client({ name: "agent", version: "1" });
  await client.connect(transport);
  const { tools } = await client.listTools();
  assert.equal(tools.length, 11);
  const call = async (name, args, options) => {
    const result = await client.callTool({ name, arguments: args }, undefined, options);
    assert.ok(!result.isError, JSON.stringify(result));
    return result;
  };
  const { session } = (await call("open_session", {})).structuredContent;
  const write = (text) => call("write_file", { session, path: "solution.py", text });
  await write("def add(a, b):\n    return a - b\n");
  const failed = (await call("run_tests", { session, tests: TESTS })).structuredContent;
  assert.deepEqual([failed.status, failed.passed, failed.total], ["failed", 1, 2]);
  await write("def add(a, b):\n    return a + b\n");
  const passed = (await call("run_tests", { session, tests: TESTS })).structuredContent;
  assert.deepEqual([passed.status, passed.passed, passed.total], ["passed", 2, 2]);

  const shown = await call("run_python", { session, code: FIGURE });
  assert.deepEqual([shown.content[1].type, shown.content[1].mimeType], ["image", "image/png"]);

  const told = [];
  const printing = "import time\nfor step in range(4):\n    print('step', step)\n    time.sleep(0.6)";
  await call("run_python", { session, code: printing }, { onprogress: ({ message }) => told.push(message) });
  assert.ok(told.length > 0 && told.every((message) => message.startsWith("step ")), JSON.stringify(told));

  const abort = new AbortController();
  const endless = call("run_python", { session, code: "x = 1\nwhile True: pass", timeout: 60 }, { signal: abort.signal });
  const ended = assert.rejects(endless);
  await sleep(1000);
  abort.abort("enough");
  await ended;
  const began = Date.now();
  const after = (await call("run_python", { session, code: "x" })).structuredContent;
  assert.equal(after.result, "1");
  assert.ok(Date.now() - began < 5000);

  const resource = await client.readResource({ uri: `proofbox://sessions/${session}/files/solution.py` });
  assert.equal(resource.contents[0].text, "def add(a, b):\n    return a + b\n");
  await call("close_session", { session });
  const gone = await client.callTool({ name: "run_python", arguments: { session, code: "1" } });
  assert.ok(gone.isError && gone.content[0].text.includes("open_session"));
  await client.close();
}

// Tasks of revision 2025-11-25, over HTTP.
async function runTasks() {
  const client = new Client({ name: "agent", version: "1" });
  await client.connect(transports.http());
  const { tasks } = client.getServerCapabilities();
  assert.deepEqual(tasks, { list: {}, cancel: {}, requests: { tools: { call: {} } } });
  const { tools } = await client.listTools();
  const taken = tools.filter(({ execution }) => execution?.taskSupport === "optional").map(({ name }) => name);
  assert.deepEqual(taken, ["run_python", "run_command", "run_tests"]);

  const begin = (name, args, task) => client.experimental.tasks.callToolStream({ name, arguments: args }, undefined, { task });
  const code = "import time\nfor step in range(4):\n    print('step', step)\n    time.sleep(0.8)\n6 * 7";
  const seen = [];
  for await (const message of begin("run_python", { code }, { ttl: 60_000 })) seen.push(message);
  assert.deepEqual([seen[0].type, seen[0].task.status, seen[0].task.ttl], ["taskCreated", "working", 60_000]);
  assert.ok(seen.some(({ task }) => task?.statusMessage?.startsWith("step ")), JSON.stringify(seen));
  const last = seen.at(-1);
  assert.deepEqual([last.type, last.result.structuredContent.result], ["result", "42"]);
  const { taskId } = seen[0].task;
  assert.equal((await client.experimental.tasks.getTask(taskId)).status, "completed");
  const again = await client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);
  assert.equal(again._meta["io.modelcontextprotocol/related-task"].taskId, taskId);

  const { session } = (await client.callTool({ name: "open_session", arguments: {} })).structuredContent;
  const endless = begin("run_python", { session, code: "x = 1\nwhile True: pass", timeout: 60 }, {});
  const created = (await endless.next()).value;
  const running = await client.experimental.tasks.listTasks();
  assert.deepEqual(running.tasks.slice(-2).map(({ status }) => status), ["completed", "working"]);
  assert.equal((await client.experimental.tasks.cancelTask(created.task.taskId)).status, "cancelled");
  await assert.rejects(client.experimental.tasks.cancelTask(created.task.taskId), /can't be cancelled/);
  const began = Date.now();
  const after = await client.callTool({ name: "run_python", arguments: { session, code: "x" } });
  assert.equal(after.structuredContent.result, "1");
  assert.ok(Date.now() - began < 5000);
  const failing = [];
  for await (const message of begin("run_python", { session: "none", code: "1" }, {})) failing.push(message);
  assert.ok(failing.at(-1).type === "error" || failing.at(-1).result.isError, JSON.stringify(failing));
  await client.callTool({ name: "close_session", arguments: { session } });
  await client.close();
}

for (const [name, transport] of Object.entries(transports)) {
  await solve(transport());
  console.log(`${name}: passed`);
}
await runTasks();
console.log("tasks: passed");
console.log("all passed");
