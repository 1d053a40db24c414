// What users of E2B's JavaScript SDK do most, with the unmodified SDK.
//
//   E2B_API_URL=http://127.0.0.1:8080 E2B_SANDBOX_URL=http://127.0.0.1:8080 E2B_VOLUME_API_URL=http://127.0.0.1:8080 \
//       E2B_API_KEY=e2b_<40 hex> node essentials.mjs [word ...]
//
// Only checks whose name contains one of the words, if there are any. E2B_SKIP: groups to leave out, with commas
// (commands, watch, volumes). Prints `ok name` or `FAIL name  reason`; ends with 1 if one failed.
import assert from 'node:assert/strict'
import { Sandbox, NotFoundError, TimeoutError } from '@e2b/code-interpreter'
import { CommandExitError, FileNotFoundError, Volume } from 'e2b'

for (const name of ['E2B_API_URL', 'E2B_SANDBOX_URL', 'E2B_API_KEY']) {
  if (!process.env[name]) {
    console.error(`${name} is not set`)
    process.exit(2)
  }
}
const skipped = new Set((process.env.E2B_SKIP ?? '').split(',').filter(Boolean))
const words = process.argv.slice(2)
const equal = assert.deepEqual
const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds))

const checks = []
const check = (name, group, run) => checks.push({ name, group, run })
const made = []
async function create(options = {}) {
  const sandbox = await Sandbox.create({ timeoutMs: 60_000, ...options })
  made.push(sandbox)
  return sandbox
}
/** Waits until it holds: events come when they come. */
async function eventually(holds, what) {
  for (let turn = 0; turn < 100; turn++) {
    if (holds()) return
    await sleep(50)
  }
  assert.fail(what())
}

check('create, info, list, timeout, kill', 'control', async () => {
  const sandbox = await create({ metadata: { 'k y': 'v&=ä' }, envs: { FROM_CREATE: 'g1' } })
  const info = await sandbox.getInfo()
  equal(info.sandboxId, sandbox.sandboxId)
  equal(info.metadata, { 'k y': 'v&=ä' })
  equal(info.state, 'running')
  const listed = await Sandbox.list({ query: { metadata: { 'k y': 'v&=ä' } } }).nextItems()
  assert(listed.some((one) => one.sandboxId === sandbox.sandboxId))
  await sandbox.setTimeout(120_000)
  assert((await sandbox.getInfo()).endAt > info.endAt)
  equal((await sandbox.runCode("import os\nos.environ['FROM_CREATE']")).text, 'g1')
  equal(await sandbox.isRunning(), true)
  equal(await sandbox.kill(), true)
  equal(await sandbox.isRunning(), false)
  equal(await Sandbox.kill(sandbox.sandboxId), false)
  await assert.rejects(sandbox.runCode('1'), TimeoutError)
})

check('a key of another form is refused', 'control', async () => {
  await assert.rejects(Sandbox.create({ apiKey: 'bad' }), { name: 'AuthenticationError' })
})

check('runCode with callbacks', 'code', async () => {
  const sandbox = await create()
  const told = []
  const execution = await sandbox.runCode(
    "import sys, time\nprint('a', flush=True)\nprint('é 日 🐍', file=sys.stderr, flush=True)\ndisplay('d')\n{'x': [1, None]}",
    {
      onStdout: (message) => told.push(['stdout', message.line]),
      onStderr: (message) => told.push(['stderr', message.line]),
      onResult: (result) => told.push(['result', result.text]),
      onError: (error) => told.push(['error', error.name]),
    }
  )
  equal(told, [
    ['stdout', 'a\n'],
    ['stderr', 'é 日 🐍\n'],
    ['result', 'd'],
    ['result', "{'x': [1, None]}"],
  ])
  equal(execution.text, "{'x': [1, None]}")
  equal(execution.results[1].json, { x: [1, null] })
  equal(execution.results.map((result) => result.isMainResult), [false, true])
  equal(execution.executionCount, 1)
  const failed = await sandbox.runCode('def f(): return 1 / 0\nf()')
  equal([failed.error.name, failed.error.value], ['ZeroDivisionError', 'division by zero'])
  assert(failed.error.traceback.includes('ZeroDivisionError'))
  equal((await sandbox.runCode('x = 41')).text, undefined)
  equal((await sandbox.runCode('x + 1')).text, '42')
})

check('much text arrives as it was', 'code', async () => {
  const sandbox = await create()
  const text = 'é日🐍\u2028\u0085'.repeat(100_000)
  const execution = await sandbox.runCode("print('é日🐍\\u2028\\u0085' * 100_000, end='')")
  equal(execution.logs.stdout.join('').length, text.length)
  assert(execution.logs.stdout.join('') === text)
})

check('runCode that takes too long is interrupted, and the state is kept', 'code', async () => {
  const sandbox = await create()
  await sandbox.runCode('kept = 1')
  await assert.rejects(sandbox.runCode('while True: pass', { timeoutMs: 1000 }), TimeoutError)
  equal((await sandbox.runCode('kept', { timeoutMs: 15_000 })).text, '1')
})

check('contexts', 'code', async () => {
  const sandbox = await create()
  const context = await sandbox.createCodeContext({ cwd: '/tmp', language: 'python' })
  equal([context.language, context.cwd], ['python', '/tmp'])
  await sandbox.runCode('mine = 1', { context })
  equal((await sandbox.runCode('mine', { context })).text, '1')
  equal((await sandbox.runCode('mine')).error.name, 'NameError')
  assert((await sandbox.listCodeContexts()).some((one) => one.id === context.id))
  await sandbox.restartCodeContext(context)
  equal((await sandbox.runCode('mine', { context })).error.name, 'NameError')
  await sandbox.removeCodeContext(context)
  await assert.rejects(sandbox.runCode('1', { context }), NotFoundError)
})

check('files: write, read, list, info, move, remove', 'files', async () => {
  const { files } = await create()
  const written = await files.write('d/a b "ü"%20.txt', 'text é')
  equal(written.path, '/home/user/d/a b "ü"%20.txt')
  equal(await files.read('d/a b "ü"%20.txt'), 'text é')
  const bytes = new Uint8Array(300_000).map((_, index) => index % 251)
  await files.write('b.bin', new Blob([bytes]))
  equal(Buffer.from(await files.read('b.bin', { format: 'bytes' })).equals(Buffer.from(bytes)), true)
  const many = await files.write([
    { path: 'm/1', data: '1' },
    { path: 'm/2', data: '2' },
  ])
  equal(many.map((one) => one.path), ['/home/user/m/1', '/home/user/m/2'])
  equal((await files.list('m')).map((entry) => [entry.name, entry.type, entry.size]), [
    ['1', 'file', 1],
    ['2', 'file', 1],
  ])
  equal((await files.getInfo('m')).type, 'dir')
  equal((await files.rename('m/1', 'n/3')).path, '/home/user/n/3')
  equal([await files.exists('m/1'), await files.exists('n/3')], [false, true])
  await files.remove('m')
  equal(await files.exists('m/2'), false)
  equal([await files.makeDir('x/y'), await files.makeDir('x/y')], [true, false])
  await assert.rejects(files.read('none'), FileNotFoundError)
})

check('files: addresses that are signed', 'files', async () => {
  const sandbox = await create()
  await sandbox.files.write('dl.txt', 'download me')
  const address = await sandbox.downloadUrl('dl.txt', { useSignatureExpiration: 60_000 })
  equal(await (await fetch(address)).text(), 'download me')
  equal((await fetch(address.replace('signature=v1_', 'signature=v1_A'))).status, 401)
})

check('files: watch', 'watch', async () => {
  const { files } = await create()
  await files.makeDir('w')
  const events = []
  const watch = await files.watchDir('w', (event) => events.push(`${event.type} ${event.name}`))
  await files.write('w/n.txt', '1')
  await files.remove('w/n.txt')
  const has = (event) => events.includes(event)
  await eventually(() => has('create n.txt') && has('remove n.txt'), () => `told was only: ${events}`)
  await watch.stop()
})

check('commands: run, output, exit code, directory, variables', 'commands', async () => {
  const { commands, files } = await create()
  const chunks = []
  const result = await commands.run('echo hi && pwd; echo e >&2; printenv AA || echo "$AA"', {
    cwd: '/tmp',
    envs: { AA: 'x y' },
    onStdout: (data) => chunks.push(data),
  })
  equal([result.stdout, result.stderr, result.exitCode], ['hi\n/tmp\nx y\n', 'e\n', 0])
  equal(chunks.join(''), result.stdout)
  await files.write('prog.py', 'import sys\nprint(sys.argv[1:])\nsys.exit(3)')
  await assert.rejects(commands.run("python3 prog.py a 'b c'"), (error) => {
    assert(error instanceof CommandExitError)
    equal([error.exitCode, error.stdout], [3, "['a', 'b c']\n"])
    return true
  })
  await assert.rejects(commands.run('no_such_program_xyz'), { exitCode: 127 })
})

check('commands: background, list, connect, kill', 'commands', async () => {
  const { commands } = await create()
  const code = 'import time\nfor i in range(20): print(i, flush=True); time.sleep(0.1)'
  const handle = await commands.run(`python3 -c "${code}"`, { background: true })
  assert((await commands.list()).some((one) => one.pid === handle.pid))
  const joined = await commands.connect(handle.pid)
  assert((await joined.wait()).stdout.endsWith('19\n'))
  equal((await handle.wait()).stdout.split('\n').length, 21)
  const endless = await commands.run('python3 -c "import time; time.sleep(60)"', { background: true })
  equal(await endless.kill(), true)
  await assert.rejects(endless.wait(), CommandExitError)
  equal(await commands.kill(endless.pid), false)
})

check('commands: input', 'commands', async () => {
  const { commands } = await create()
  const handle = await commands.run('cat', { background: true, stdin: true })
  await commands.sendStdin(handle.pid, 'one ')
  await handle.sendStdin('déux')
  await handle.closeStdin()
  equal((await handle.wait()).stdout, 'one déux')
})

check('commands: a time limit', 'commands', async () => {
  const { commands } = await create()
  await assert.rejects(commands.run('sleep 30', { timeoutMs: 1000 }), TimeoutError)
})

check('volumes: files outside and inside a sandbox', 'volumes', async () => {
  const volume = await Volume.create(`js-${Date.now()}`)
  await volume.writeFile('/a', 'outside')
  await volume.makeDir('/d/e', { force: true })
  equal((await volume.list('/', { depth: 2 })).map((entry) => entry.path), ['/a', '/d', '/d/e'])
  const sandbox = await create({ volumeMounts: { '/mnt/data': volume } })
  equal(await sandbox.files.read('/mnt/data/a'), 'outside')
  await sandbox.files.write('/mnt/data/d/f', 'inside')
  equal(await volume.readFile('/d/f'), 'inside')
  await sandbox.kill()
  equal(await volume.readFile('/d/f'), 'inside')
  await volume.updateMetadata('/d/f', { mode: 0o600 })
  equal((await volume.getInfo('/d/f')).mode, 0o600)
  await volume.remove('/d')
  equal(await volume.exists('/d'), false)
  equal([await Volume.destroy(volume.volumeId), await Volume.destroy(volume.volumeId)], [true, false])
})

check('pause and connect keep memory and files', 'control', async () => {
  const sandbox = await create()
  await sandbox.runCode("keep = 'k'")
  await sandbox.files.write('keep.txt', 'f')
  equal(await sandbox.pause(), true)
  equal(await sandbox.pause(), false)
  equal((await sandbox.getInfo()).state, 'paused')
  equal(await sandbox.isRunning(), false)
  const again = await Sandbox.connect(sandbox.sandboxId)
  equal((await again.runCode('keep')).text, 'k')
  equal(await again.files.read('keep.txt'), 'f')
})

check('forks and snapshots go on by themselves', 'control', async () => {
  const sandbox = await create()
  await sandbox.runCode('n = 1')
  const snapshot = await sandbox.createSnapshot()
  const forks = await sandbox.fork({ count: 2 })
  made.push(...forks)
  equal((await forks[0].runCode('n += 1\nn')).text, '2')
  equal((await forks[1].runCode('n')).text, '1')
  await sandbox.runCode('n = 5')
  const restored = await Sandbox.create(snapshot.snapshotId, { timeoutMs: 60_000 })
  made.push(restored)
  equal((await restored.runCode('n')).text, '1')
  equal(await Sandbox.deleteSnapshot(snapshot.snapshotId), true)
})

let failed = 0
for (const { name, group, run } of checks) {
  if (skipped.has(group) || (words.length && !words.some((word) => name.includes(word)))) continue
  try {
    await run()
    console.log(`ok ${name}`)
  } catch (error) {
    failed++
    console.log(`FAIL ${name}  ${error?.name}: ${String(error?.message).slice(0, 600)}`)
  }
}
await Promise.allSettled(made.map((sandbox) => sandbox.kill?.()))
console.log(failed ? `${failed} failed` : 'all passed')
// Streams that the SDK keeps open do not keep this alive.
process.exit(failed ? 1 : 0)
