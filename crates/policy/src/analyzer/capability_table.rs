//! Tables of names of the standard library and of common packages, with the capability that each gives a program.
//!
//! A name is qualified as an import would write it; `x()` is what calling `x` gives, and `.*` all that lies below. The
//! confidence says how surely someone who reads the name would say that the program uses the capability.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::scanners::Capability::{
    self, DynamicCode, Environment, FileRead, FileWrite, GraderTampering, Introspection, Network, Process,
};

/// Capability that a name gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    /// Capability that is given.
    pub capability: Capability,
    /// Confidence from 0 to 1.
    pub confidence: f64,
}

/// Capability, confidence, and the names with spaces between.
type Group = (Capability, f64, &'static str);

/// Capabilities of names, by qualified name.
const NAMES: &[Group] = &[
    (
        Process,
        0.95,
        "
         os.system os.popen os.popen2 os.popen3 os.popen4 os.execl os.execle os.execlp os.execlpe os.execv
         os.execve os.execvp os.execvpe os.spawnl os.spawnle os.spawnlp os.spawnlpe os.spawnv os.spawnve
         os.spawnvp os.spawnvpe os.fork os.forkpty os.kill os.killpg os.posix_spawn os.posix_spawnp os.startfile
         os.abort os._exit os.wait os.waitpid os.setuid os.setgid os.setsid os.chroot os.pidfd_open
         os.register_at_fork subprocess.* _posixsubprocess.* _winapi.* multiprocessing.Process
         multiprocessing.Pool multiprocessing.pool.Pool multiprocessing.Manager multiprocessing.context.*
         concurrent.futures.ProcessPoolExecutor concurrent.futures.process.* pty.* asyncio.create_subprocess_exec
         asyncio.create_subprocess_shell asyncio.subprocess.* signal.signal signal.alarm signal.setitimer
         signal.raise_signal signal.pthread_kill signal.siginterrupt signal.set_wakeup_fd ensurepip.* pip.* venv.*
         pexpect.* psutil.* sh.* plumbum.* fabric.* invoke.* commands.* popen2.* webbrowser.open webbrowser.get
         webbrowser.open_new webbrowser.open_new_tab antigravity distutils.spawn.spawn platform.popen
         resource.setrlimit os.nice os.setpriority os.sched_setaffinity _thread.interrupt_main
         faulthandler._sigsegv
        ",
    ),
    (
        Process,
        0.8,
        "
         multiprocessing signal resource fcntl.* termios.* posix _signal _multiprocessing
        ",
    ),
    (Process, 0.4, "multiprocessing.* signal.* os.getpid os.getppid"),
    (
        Network,
        0.95,
        "
         socket.* _socket.* ssl.* _ssl.* http.client.* http.server.* urllib.request.* urllib.robotparser.*
         urllib2.* ftplib.* poplib.* imaplib.* smtplib.* smtpd.* nntplib.* telnetlib.* xmlrpc.client.*
         xmlrpc.server.* socketserver.* asyncio.open_connection asyncio.start_server asyncio.open_unix_connection
         asyncio.start_unix_server asyncio.streams.* wsgiref.simple_server.* requests.* httpx.* aiohttp.*
         urllib3.* websocket.* websockets.* paramiko.* pycurl.* boto3.* botocore.* dns.* scapy.* twisted.*
         tornado.* flask.Flask().run grpc.* redis.* pymongo.* psycopg2.* pymysql.* mechanize.*
         multiprocessing.connection.* multiprocessing.managers.* logging.handlers.SocketHandler
         logging.handlers.DatagramHandler logging.handlers.SysLogHandler logging.handlers.HTTPHandler
         logging.handlers.SMTPHandler webbrowser.* logging.config.listen antigravity turtledemo.*
         asyncio.get_event_loop().create_connection asyncio.new_event_loop().create_connection
         asyncio.get_running_loop().create_connection
        ",
    ),
    (
        FileWrite,
        0.9,
        "
         os.remove os.unlink os.rmdir os.removedirs os.mkdir os.makedirs os.rename os.renames os.replace os.link
         os.symlink os.truncate os.ftruncate os.chmod os.lchmod os.fchmod os.chown os.lchown os.fchown os.mkfifo
         os.mknod os.utime os.write os.pwrite os.writev os.pwritev os.sendfile os.copy_file_range os.dup2
         os.setxattr os.memfd_create os.posix_fallocate shutil.copy shutil.copy2 shutil.copyfile
         shutil.copyfileobj shutil.copytree shutil.copymode shutil.copystat shutil.move shutil.rmtree shutil.chown
         shutil.make_archive shutil.unpack_archive pathlib.Path().write_text pathlib.Path().write_bytes
         pathlib.Path().unlink pathlib.Path().rmdir pathlib.Path().mkdir pathlib.Path().touch
         pathlib.Path().rename pathlib.Path().replace pathlib.Path().symlink_to pathlib.Path().hardlink_to
         pathlib.Path().chmod pathlib.Path().lchmod shelve.open shelve.Shelf shelve.DbfilenameShelf dbm.*
         logging.FileHandler logging.handlers.RotatingFileHandler logging.handlers.TimedRotatingFileHandler
         logging.handlers.WatchedFileHandler mmap.mmap py_compile.compile compileall.* zipapp.create_archive
         os.fdopen().write zipfile.ZipFile().extractall zipfile.ZipFile().extract tarfile.open().extractall
         tarfile.open().extract tarfile.TarFile().extractall
        ",
    ),
    (FileWrite, 0.4, "tempfile.* fileinput.input sqlite3.Connection().backup"),
    (
        FileRead,
        0.6,
        "
         os.listdir os.scandir os.walk os.fwalk os.readlink os.open os.read os.pread os.openpty glob.glob
         glob.iglob pathlib.Path().read_text pathlib.Path().read_bytes pathlib.Path().iterdir pathlib.Path().glob
         pathlib.Path().rglob pathlib.Path().walk linecache.getline linecache.getlines filecmp.* pkgutil.get_data
        ",
    ),
    (
        Environment,
        0.95,
        "
         os.environ os.environb os.getenv os.getenvb os.putenv os.unsetenv os.path.expandvars os.get_exec_path
         urllib.request.getproxies urllib.request.getproxies_environment posixpath.expandvars dotenv.* decouple.*
         environ.* posix.environ
        ",
    ),
    (
        Environment,
        0.6,
        "
         os.getlogin pwd.* grp.* spwd.* getpass.getuser os.uname os.getuid
        ",
    ),
    (
        DynamicCode,
        0.9,
        "
         types.FunctionType types.CodeType code.* codeop.* runpy.* imp.* zipimport.*
         importlib.util.* importlib.machinery.* importlib._bootstrap.* importlib._bootstrap_external.* _imp.*
         _frozen_importlib.* _frozen_importlib_external.* marshal.load marshal.loads pickle.load pickle.loads
         pickle.Unpickler _pickle.loads _pickle.load _pickle.Unpickler cPickle.* dill.* cloudpickle.* jsonpickle.*
         pdb.run pdb.runeval pdb.runcall pdb.Pdb bdb.* cProfile.run cProfile.runctx profile.run profile.runctx
         trace.Trace doctest.run_docstring_examples doctest.testsource doctest.script_from_examples
         timeit.template yaml.load yaml.unsafe_load yaml.full_load logging.config.fileConfig _xxsubinterpreters.*
         _interpreters.* concurrent.interpreters.* interpreters.* concurrent.futures.InterpreterPoolExecutor
         builtins.eval().* pkgutil.resolve_name pkgutil.get_loader pkgutil.find_loader pkgutil.get_importer
         sys.path_hooks sys.meta_path site.* rlcompleter.* idlelib.* lib2to3.* cffi.*
        ",
    ),
    (DynamicCode, 0.6, "builtins.breakpoint typing.get_type_hints inspect.get_annotations"),
    (DynamicCode, 0.5, "importlib.import_module importlib.reload builtins.__import__ importlib.__import__"),
    (
        Introspection,
        0.95,
        "
         gc.get_objects gc.get_referrers gc.get_referents gc.callbacks sys._getframe sys._getframemodulename
         sys._current_frames sys._current_exceptions inspect.currentframe inspect.stack inspect.trace
         inspect.getouterframes inspect.getinnerframes inspect.getclosurevars inspect.getgeneratorlocals
         inspect.getcoroutinelocals inspect.getgeneratorstate sys.settrace sys.setprofile sys.gettrace
         sys.monitoring.* sys.call_tracing threading.settrace threading.setprofile threading.settrace_all_threads
         threading.setprofile_all_threads traceback.walk_stack traceback.walk_tb traceback.extract_stack ctypes.*
         _ctypes.* cffi.* dis.* _testcapi.* _testinternalcapi.* tracemalloc.* sys._clear_type_cache
         sys.addaudithook sys.audit sys.activate_stack_trampoline sys.set_asyncgen_hooks sys._debugmallocstats
         opcode.* _opcode.* builtins.object.__subclasses__ trace.* mmap.mmap symtable.* hotshot.*
        ",
    ),
    (
        Introspection,
        0.6,
        "
         inspect.getframeinfo inspect.getsource inspect.getsourcelines inspect.getsourcefile inspect.getfile
         inspect.getmembers inspect.getmodule traceback.print_stack traceback.format_stack traceback.StackSummary
         types.FrameType types.TracebackType weakref.getweakrefs weakref.getweakrefcount sys.exc_info
         sys.last_traceback sys.modules inspect.getattr_static sys.getrefcount sys.intern().*
         types.MappingProxyType().* gc.is_tracked
        ",
    ),
    (
        GraderTampering,
        0.9,
        "
         os._exit linecache.cache linecache.updatecache linecache.lazycache unittest.mock.patch
         unittest.mock.patch.object unittest.mock.patch.dict _proofbox.* pytest.exit pytest.skip unittest.SkipTest
         _pytest.* unittest.case.* unittest.result.* unittest.runner.* os.dup2 os.abort forbiddenfruit.*
        ",
    ),
    (GraderTampering, 0.7, "atexit.register atexit._run_exitfuncs atexit._clear atexit.unregister"),
    (GraderTampering, 0.5, "builtins.exit builtins.quit sys.exit builtins.SystemExit sys.__stdout__ sys.__stderr__"),
    (
        Process,
        0.95,
        "webbrowser.GenericBrowser webbrowser.BackgroundBrowser webbrowser.register pydoc.pager pydoc.pipepager pydoc.tempfilepager",
    ),
    (Process, 0.6, "shutil.which"),
    (
        Network,
        0.95,
        "webbrowser.open webbrowser.get webbrowser.open_new webbrowser.open_new_tab pydoc.browse pydoc.apropos pip.*",
    ),
    (
        FileWrite,
        0.9,
        "venv.create venv.EnvBuilder cProfile.Profile().dump_stats cProfile.run profile.run cProfile.runctx tracemalloc.Snapshot().dump",
    ),
    (
        DynamicCode,
        0.9,
        "shelve.open shelve.Shelf shelve.DbfilenameShelf gettext.c2py typing.ForwardRef _testcapi.run_in_subinterp py_compile.compile compileall.* doctest.testmod doctest.testfile annotationlib.*",
    ),
    (DynamicCode, 0.6, "builtins.breakpoint typing.get_type_hints inspect.get_annotations"),
    (
        GraderTampering,
        0.9,
        "sys.meta_path sys.path_hooks pytest.MonkeyPatch _pytest.monkeypatch.MonkeyPatch pdb.set_trace",
    ),
    (GraderTampering, 0.6, "unittest.mock.ANY sys.__stdout__ sys.__stderr__"),
    (Environment, 0.9, "os.get_exec_path urllib.request.getproxies urllib.request.getproxies_environment"),
    (Introspection, 0.9, "bdb.* faulthandler.* pdb.set_trace pdb.post_mortem"),
];

/// Modules whose import alone says it: there is nothing else in them.
const MODULES: &[Group] = &[
    (
        Process,
        0.8,
        "
         subprocess _posixsubprocess multiprocessing pty pexpect psutil sh plumbum fabric ensurepip pip venv
         commands popen2 antigravity posix
        ",
    ),
    (Process, 0.5, "signal resource fcntl termios tty"),
    (
        Network,
        0.8,
        "
         socket _socket ssl _ssl http.client http.server urllib.request urllib2 ftplib poplib imaplib smtplib
         smtpd nntplib telnetlib xmlrpc xmlrpc.client xmlrpc.server socketserver wsgiref.simple_server requests
         httpx aiohttp urllib3 websocket websockets paramiko pycurl boto3 botocore dns scapy twisted tornado grpc
         redis pymongo psycopg2 pymysql webbrowser antigravity multiprocessing.connection multiprocessing.managers
         urllib.robotparser
        ",
    ),
    (
        DynamicCode,
        0.7,
        "
         code codeop runpy imp zipimport marshal dill cloudpickle jsonpickle bdb importlib.util
         importlib.machinery _imp _frozen_importlib _frozen_importlib_external _xxsubinterpreters _interpreters
         concurrent.interpreters
        ",
    ),
    (DynamicCode, 0.3, "pickle importlib pdb"),
    (
        Introspection,
        0.8,
        "
         ctypes _ctypes cffi dis opcode _testcapi tracemalloc symtable
        ",
    ),
    (Introspection, 0.3, "gc inspect"),
    (Introspection, 0.5, "mmap"),
    (Environment, 0.6, "dotenv decouple pwd grp"),
    (FileWrite, 0.5, "dbm shelve"),
    (GraderTampering, 0.7, "_pytest linecache atexit forbiddenfruit"),
    (GraderTampering, 0.6, "__main__"),
    (GraderTampering, 0.6, "__main__"),
    (GraderTampering, 0.3, "unittest pytest unittest.mock"),
];

/// Names in those modules that give no capability.
const HARMLESS: &str = "
         subprocess.PIPE subprocess.STDOUT subprocess.DEVNULL subprocess.CalledProcessError
         subprocess.TimeoutExpired subprocess.SubprocessError subprocess.CompletedProcess socket.error
         socket.timeout socket.gaierror socket.herror socket.AF_INET socket.SOCK_STREAM socket.inet_aton
         socket.inet_ntoa socket.inet_pton socket.inet_ntop socket.htons socket.ntohs socket.htonl socket.ntohl
         requests.exceptions.* requests.RequestException urllib.request.quote urllib.request.unquote
         urllib.request.pathname2url ssl.SSLError http.client.HTTPException http.client.responses
         ftplib.all_errors ftplib.error_perm smtplib.SMTPException signal.SIGINT signal.SIGTERM signal.Signals
         multiprocessing.cpu_count dis.Instruction psutil.NoSuchProcess importlib.util.find_spec sys.exc_info
         traceback.format_exc dbm.error
        ";

/// Methods that say it whatever they are called on, where it is not known on what.
const METHODS: &[Group] = &[
    (
        Process,
        0.6,
        "
         system popen check_output check_call getoutput getstatusoutput Popen execv execve execvp execl execlp
         spawnv spawnl spawnlp fork forkpty posix_spawn fork_exec ProcessPoolExecutor create_subprocess_exec
         create_subprocess_shell subprocess_exec subprocess_shell killpg
        ",
    ),
    (
        Network,
        0.6,
        "
         urlopen urlretrieve create_connection gethostbyname getaddrinfo gethostbyname_ex open_connection
         start_server create_server sock_connect create_datagram_endpoint HTTPConnection HTTPSConnection getfqdn
        ",
    ),
    (
        FileWrite,
        0.6,
        "
         write_text write_bytes rmtree symlink_to hardlink_to makedirs copyfile copytree extractall
        ",
    ),
    (FileWrite, 0.4, "unlink rmdir touch mkdir"),
    (Environment, 0.6, "getenv environ putenv"),
    (
        DynamicCode,
        0.6,
        "
         import_module load_module exec_module find_spec spec_from_file_location run_path run_module find_module
        ",
    ),
    (
        Introspection,
        0.6,
        "
         get_objects get_referrers get_referents _getframe settrace setprofile currentframe pythonapi CDLL
        ",
    ),
    (GraderTampering, 0.6, "_exit _run_exitfuncs addaudithook"),
    (Process, 0.6, "syscall execlpe spawnve spawnvp"),
    (Network, 0.6, "getnameinfo"),
    (DynamicCode, 0.8, "PyRun_SimpleString PyRun_String PyRun_SimpleStringFlags PyEval_EvalCode"),
    (FileWrite, 0.5, "dump_stats to_csv to_excel to_parquet to_pickle savefig"),
];

/// Attributes that say it on any object.
const ATTRIBUTES: &[Group] = &[
    (
        Introspection,
        0.9,
        "
         __subclasses__ __globals__ __builtins__ __closure__ func_globals f_back f_globals f_locals f_builtins
         f_code tb_frame gi_frame cr_frame ag_frame gi_code cr_code ag_code cr_origin co_consts co_code
         _co_code_adaptive cell_contents gi_yieldfrom cr_await
        ",
    ),
    (
        Introspection,
        0.7,
        "
         __code__ __bases__ __base__ __mro__ __loader__ __spec__ tb_next tb_lasti __reduce_ex__ __reduce__
         __self__ co_names co_varnames co_filename f_lineno f_trace
        ",
    ),
    (Introspection, 0.5, "__getattribute__ __func__ __wrapped__ __traceback__"),
    (DynamicCode, 0.8, "__import__"),
];

struct Tables {
    names: HashMap<&'static str, Vec<Entry>>,
    modules: HashMap<&'static str, Vec<Entry>>,
    methods: HashMap<&'static str, Vec<Entry>>,
    attributes: HashMap<&'static str, Vec<Entry>>,
    held: HashSet<&'static str>,
    builtins: HashSet<&'static str>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let of = |groups: &[Group]| {
        let mut table: HashMap<&'static str, Vec<Entry>> = HashMap::new();
        for (capability, confidence, names) in groups {
            for name in names.split_whitespace() {
                table.entry(name).or_default().push(Entry { capability: *capability, confidence: *confidence });
            }
        }
        table
    };
    let mut names = of(NAMES);
    names.extend(HARMLESS.split_whitespace().map(|name| (name, Vec::new())));
    let set = |names: &'static str| names.split_whitespace().collect();
    Tables {
        names,
        modules: of(MODULES),
        methods: of(METHODS),
        attributes: of(ATTRIBUTES),
        held: set(HELD),
        builtins: set(BUILTINS),
    }
});

/// Returns the capabilities of the object of this qualified name.
pub(super) fn of_name(name: &str) -> &'static [Entry] {
    if let Some(found) = TABLES.names.get(name) {
        return found;
    }
    // What an import of an unknown name gives is judged by what is taken out of it.
    if let Some(method) = name.strip_prefix("?.") {
        return of_method(method);
    }
    let mut pattern = name.to_owned();
    while let Some(at) = pattern.rfind('.') {
        pattern.truncate(at + 1);
        pattern.push('*');
        if let Some(found) = TABLES.names.get(pattern.as_str()) {
            return found;
        }
        pattern.truncate(at);
    }
    &[]
}

/// Returns the capabilities of the object of just this name; nothing that lies below a name of the tables.
pub(super) fn of_exact(name: &str) -> &'static [Entry] {
    TABLES.names.get(name).map_or(&[], Vec::as_slice)
}

/// Returns the capabilities of importing this module.
pub(super) fn of_module(module: &str) -> &'static [Entry] {
    let mut name = module;
    loop {
        if let Some(found) = TABLES.modules.get(name) {
            return found;
        }
        match name.rsplit_once('.') {
            Some((parent, _)) => name = parent,
            None => return &[],
        }
    }
}

/// Returns the capabilities of a method of this name, on an object of which nothing is known.
pub(super) fn of_method(name: &str) -> &'static [Entry] {
    TABLES.methods.get(name).map_or(&[], Vec::as_slice)
}

/// Returns the capabilities of an attribute of this name, on any object.
pub(super) fn of_attribute(name: &str) -> &'static [Entry] {
    if name.starts_with("_proofbox") {
        return const { &[Entry { capability: GraderTampering, confidence: 0.9 }] };
    }
    TABLES.attributes.get(name).map_or(&[], Vec::as_slice)
}

/// Returns whether a star import of `module` could bind `name` to something of consequence.
pub(super) fn has(module: &str, name: &str) -> bool {
    TABLES.names.contains_key(format!("{module}.{name}").as_str())
        || TABLES.names.contains_key(format!("{module}.*").as_str())
}

/// Names of modules that other modules of the standard library hold as attributes: `shutil.os`, `pathlib.os.sys`.
const HELD: &str = "
         os sys subprocess builtins socket importlib io shutil threading signal types linecache traceback inspect
         gc warnings functools operator pickle select code codecs _os _sys _socket _io _imp posix posixpath
         contextlib tempfile pathlib
        ";

/// Builtins that are told apart.
const BUILTINS: &str = "
         __import__ __build_class__ abs ascii bin bool breakpoint bytearray bytes chr classmethod compile delattr
         dict dir enumerate eval exec exit filter format frozenset getattr globals hasattr hex input int iter len
         list locals map memoryview next object oct open ord print property quit range repr reversed set setattr
         slice sorted staticmethod str sum super tuple type vars zip SystemExit KeyboardInterrupt BaseException
         help
        ";

/// Returns whether a name is in [`HELD`].
pub(super) fn is_held(name: &str) -> bool {
    TABLES.held.contains(name)
}

/// Returns whether a name is in [`BUILTINS`].
pub(super) fn is_builtin(name: &str) -> bool {
    TABLES.builtins.contains(name)
}

/// The name under which the tables have it: what the standard library has under several.
pub(super) fn canonical(name: &str) -> std::borrow::Cow<'_, str> {
    // The module that os takes most of its functions from, and methods called by their class.
    for (from, to) in [
        ("posix.", "os."),
        ("nt.", "os."),
        ("pathlib.PosixPath.", "pathlib.Path()."),
        ("pathlib.Path.", "pathlib.Path()."),
    ] {
        if let Some(rest) = name.strip_prefix(from)
            && !matches!(rest, "cwd" | "home")
        {
            return format!("{to}{rest}").into();
        }
    }
    let known = match name {
        "io.open" | "_io.open" | "codecs.open" | "_pyio.open" => "builtins.open",
        "posix.open" | "nt.open" => "os.open",
        "_io" | "_pyio" => "io",
        "_io.FileIO" => "io.FileIO",
        "_os" => "os",
        "_sys" => "sys",
        "posixpath" | "ntpath" => "os.path",
        "__builtin__" => "builtins",
        "_operator" => "operator",
        "_functools" => "functools",
        "_codecs" => "codecs",
        "_pickle" => "pickle",
        "_signal" => "signal",
        _ => name,
    };
    known.into()
}
