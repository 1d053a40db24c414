"""Packages of the image, and the answers of `pip` where there is nothing to install."""

import os
import pkgutil
import sys
import types

# The layer of packages that are imported from files (crates/runtime/src/packages.rs); all of them are described in it.
DIRECTORY = "/lib/python3.13/site-packages"
# The sources of what is frozen into the image: its name is no module's, so that no import finds it.
SOURCES = DIRECTORY + "/library-sources/"

# Wheels that the operator lets sessions install (crates/runtime/src/wheels.rs).
WHEELS = "/usr/share/wheels"

# Well-known ones with native code, which has to be linked into the image.
NATIVE = frozenset("""
    aiohttp bcrypt bokeh catboost contourpy cv2 cython dask duckdb fastapi fiona gensim geopandas gevent greenlet
    grpc h5py jax kiwisolver Levenshtein librosa lightgbm llvmlite lxml matplotlib mpl_toolkits msgpack nltk numba numexpr
    onnxruntime orjson pandas PIL polars psycopg2 pyarrow pycocotools pydantic pydantic_core pygame pymongo pyproj pywt
    rapidfuzz regex rpds scipy seaborn shapely skimage sklearn spacy sqlalchemy statsmodels tables tensorflow tiktoken tokenizers
    torch torchvision transformers uvloop wordcloud xgboost zmq
""".split())

# Those that the image `data` has (extensions/*.toml, and `interpreters` in packages.toml).
IN_DATA = frozenset("""
    cloudpickle contourpy cssselect docx joblib kiwisolver Levenshtein lxml matplotlib mpl_toolkits nltk pandas patsy PIL pylab
    pyquery pytesseract rapidfuzz regex scipy seaborn sklearn statsmodels textblob threadpoolctl wordcloud
""".split())

# And without: by name, these are nobody's but their distribution's.
PURE = frozenset("""
    absl altair anyio asttokens attr attrs babel bleach blinker boto3 botocore bs4 cachetools celery certifi cffi chardet
    charset_normalizer click cloudpickle colorama coverage cryptography cssselect dateutil decorator deepdiff dill distlib distributed django
    dns docker docutils docx dotenv ecdsa elasticsearch email_validator emoji executing faker fakeredis filelock flask flask_login
    flask_mail flask_restful flask_wtf folium freezegun fsspec geopy git google graphviz gunicorn h11 holidays html5lib httpcore httpx
    huggingface_hub humanize hypothesis idna imageio inflection iniconfig inspect_ai isodate itsdangerous jinja2 jmespath joblib
    jose jsonschema jwt keras kombu langchain loguru lxml_html mako markdown markupsafe marshmallow mechanize mistune mock
    more_itertools mpmath mypy natsort networkx numpy oauthlib openai openpyxl packaging pandas_datareader paramiko parse passlib
    pathspec patsy peewee pexpect phonenumbers pip pkg_resources platformdirs pluggy ply prettytable prompt_toolkit psutil pyasn1
    pycparser pydash pyfakefs pygments pylint pymysql pyparsing pypdf pyquery pyrsistent pytesseract pytest pytz redis requests requests_mock
    responses retry rich rsa ruamel schema sendgrid setuptools simplejson six slugify snowballstemmer sortedcontainers soupsieve
    sqlparse starlette stripe structlog sympy tabulate tenacity termcolor texttable textblob textdistance toml tomli tomlkit
    toolz tornado tox tqdm trio typeguard typer typing_extensions tzlocal ujson unidecode urllib3 validators vcr virtualenv
    watchdog webencodings websocket websockets werkzeug wheel wikipedia wordninja wrapt wtforms xlrd xlsxwriter xlwt xmltodict yaml yarl
    zipp
""".split())


def is_known(name):
    """Returns whether a top-level name is that of a distribution everybody knows: no program's own module is meant by
    it."""
    return name in NATIVE or name in PURE


def hint(name):
    """Returns a hint on a module that is not there, or ""."""
    top = name.partition(".")[0]
    if not top or top in sys.stdlib_module_names or top in sys.modules:
        return ""
    if top in IN_DATA:
        return " (not in this image; the image `data` has it)"
    if top in NATIVE:
        return " (not in this image, and it can't be added: it has native code, or needs a package that has)"
    return " (not in this image; a package without native code can be added to one)"


def installed():
    """Names and versions of all packages."""
    found = {}
    for entry in sorted(os.listdir(DIRECTORY)) if os.path.isdir(DIRECTORY) else ():
        stem, extension = os.path.splitext(entry)
        if extension == ".dist-info":
            name, _, version = stem.rpartition("-")
            found[name.replace("_", "-").lower()] = version
    return found


_BELOW_HOME = ".local/lib/python3.13/site-packages"


def user_directory():
    """Returns the directory where `pip` installs (crates/shell/src/programs/pip.py)."""
    # Not by os.environ, which tells of who looks for what is not there.
    home = os.environ._data.get(b"HOME")
    return f"/home/user/{_BELOW_HOME}" if home is None else os.path.join(os.fsdecode(home), _BELOW_HOME)


def look_again():
    """Modules and directories that were made since are found."""
    for path, finder in list(sys.path_importer_cache.items()):
        if finder is None:
            del sys.path_importer_cache[path]
        else:
            finder.invalidate_caches()


def may_install(arguments):
    """Returns whether `pip ARGUMENTS` has something to install, or to do otherwise, for which there is more than an
    answer."""
    words = arguments.split()
    if words[:1] in (["list"], ["freeze"]):
        return os.path.isdir(user_directory())
    if words[:1] != ["install"]:
        return words[:1] in (["uninstall"], ["show"], ["download"], ["wheel"], ["check"])
    has_wheels = os.path.isdir(WHEELS) and bool(os.listdir(WHEELS))
    names_files = any(word.startswith(("-r", "--req", "-e", "-f", "--find")) or "/" in word or word.endswith(".whl") for word in words)
    return names_files or has_wheels and any(not word.startswith("-") and not _is_satisfied(word) for word in words[1:])


def _is_satisfied(word):
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    try:
        wanted = Requirement(word)
    except InvalidRequirement:
        return False
    version = installed().get(canonicalize_name(wanted.name))
    return version is not None and wanted.specifier.contains(version, prereleases=True)


# Under other names than those by which they are imported, in what people ask pip for.
IMPORTED_AS = {"beautifulsoup4": "bs4", "opencv-python": "cv2", "pillow": "PIL", "pyyaml": "yaml", "scikit-learn": "sklearn"}
# What clients ask for before they know whether they need it: smolagents' E2BExecutor has every agent's final answer look
# whether it is an array or an image, and takes their absence only where they are used. Once asked for, the import
# succeeds, and the first use raises.
OFTEN_UNUSED = ("PIL",)
VERSION = "pip 25.0 (of this sandbox: it has no network, so nothing can be installed)"


def available():
    """Names of all that can be imported from the top."""
    names = set(sys.stdlib_module_names) & _frozen() | _frozen()
    names.update(module.name for module in pkgutil.iter_modules())
    return sorted(name for name in names if not name.startswith("_"))


def _frozen():
    import _imp

    return {name.partition(".")[0] for name in (*_imp._frozen_module_names(), *sys.builtin_module_names)}


class _NotThere(types.ModuleType):
    """Stands for a module that is not there, until it is used."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        module = self.__name__
        raise ModuleNotFoundError(f"No module named {module!r}: it can't be installed in this sandbox", name=module)


def answer(arguments):
    """Returns the output of `pip ARGUMENTS`."""
    words = [word for word in arguments.split() if not word.startswith("-")]
    if arguments.strip() in ("--version", "-V"):
        return VERSION + "\n"
    if words[:1] in (["list"], ["freeze"]):
        return "".join(f"{name}=={version}\n" for name, version in installed().items())
    if words[:1] == ["show"] or words[:1] != ["install"]:
        return _overview()
    return "".join(_asked_for(word) for word in words[1:]) + _overview()


def _asked_for(word):
    """Returns the output of `pip install WORD`."""
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    try:
        wanted = Requirement(word)
    except InvalidRequirement:
        return f"ERROR: Invalid requirement: {word!r}\n"
    name = canonicalize_name(wanted.name)
    version = installed().get(name)
    module = IMPORTED_AS.get(name, name.replace("-", "_"))
    if version is not None:
        if wanted.specifier.contains(version, prereleases=True):
            return f"Requirement already satisfied: {word} in {DIRECTORY} ({version})\n"
        return f"ERROR: Could not find a version that satisfies the requirement {word} (from versions: {version})\n"
    if module in set(available()):
        return f"{wanted.name}: is already there: import {module}\n"
    said = "is not available and cannot be installed"
    if module in OFTEN_UNUSED:
        sys.modules.setdefault(module, _NotThere(module))
        said += f" (import {module} will succeed, and its first use raise ModuleNotFoundError)"
    return f"{wanted.name}: {said}\n"


def _overview():
    extra = ", ".join(installed()) or "none"
    return (
        "There is no network in this sandbox: packages can't be installed.\n"
        f"Available: the standard library of Python {sys.version.split()[0]}; libraries besides it: {extra}\n"
    )
