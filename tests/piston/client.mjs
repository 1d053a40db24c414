// npm's piston-client, unmodified, against a running service, whose URL is PROOFBOX_URL.

import assert from "node:assert/strict";
import piston from "piston-client";

const client = piston({ server: `${process.env.PROOFBOX_URL}/piston` });
const runtimes = await client.runtimes();
assert.deepEqual(runtimes.map((runtime) => runtime.language), ["python"]);
const done = await client.execute("python", "import sys; print(sys.argv[1:], input())", { stdin: "hello\n" });
assert.equal(done.run.output, "['1', '2', '3'] hello\n", JSON.stringify(done));
assert.equal(done.language, "python");
const late = await client.execute({
  language: "python",
  files: [{ content: "while True: pass" }],
  runTimeout: 500,
});
assert.equal(late.run.signal, "SIGKILL", JSON.stringify(late));
console.log("all passed");
