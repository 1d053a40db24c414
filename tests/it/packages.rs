//! Packages that are imported from files, and what is said of those that are not there.

use serde_json::{Value, json};

use crate::harness::{Server, assert_shows, run};

#[tokio::test]
async fn packages_are_listed_and_every_one_can_be_imported() {
    let (status, text) = Server::shared().get("/v1/runtime").await;
    assert_eq!(status, 200);
    let runtime: Value = serde_json::from_str(&text).expect("JSON");
    let packages = runtime["packages"].as_object().expect("an object");
    for name in ["numpy", "pytest", "sympy", "hypothesis", "networkx", "pyyaml", "beautifulsoup4", "faker"] {
        assert!(packages.contains_key(name), "{name} in {packages:?}");
    }
    let code = "\
import importlib, importlib.metadata
modules = '''aniso8601 asgiref asynchat asyncore attr bs4 branca cachetools certifi cgi cgitb chardet charset_normalizer click
dateutil django dns et_xmlfile faker flask flask_mail flask_restful folium geographiclib geopy holidays html5lib hypothesis idna imghdr
jinja2 mailcap markdown markupsafe mechanize more_itertools mpmath natsort networkx numpy openpyxl pipes prettytable pyfakefs pygments
pytest python_http_client pytz requests requests_mock rich six sortedcontainers soupsieve sqlparse sympy tabulate telnetlib texttable
toolz tqdm typing_extensions tzdata urllib3 uu wcwidth werkzeug wtforms xdrlib xlrd xmltodict yaml'''.split()
for name in modules:
    importlib.import_module(name)
import sympy, yaml, pytz, jinja2, networkx
x = sympy.Symbol('x')
print(sympy.integrate(sympy.sin(x) ** 2, x), yaml.safe_load('a: [1, 2]'), pytz.timezone('Europe/Paris'))
print(jinja2.Template('{{ n }}!').render(n=3), networkx.shortest_path(networkx.path_graph(4), 0, 3))
print(importlib.metadata.version('numpy'), importlib.metadata.version('pyyaml'))";
    let stdout = format!(
        "x/2 - sin(x)*cos(x)/2 {{'a': [1, 2]}} Europe/Paris\n3! [0, 1, 2, 3]\n{} {}\n",
        packages["numpy"].as_str().expect("text"),
        packages["pyyaml"].as_str().expect("text"),
    );
    assert_shows(&run(code).await, json!({"status": "ok", "stdout": stdout, "stderr": ""}));
}

#[tokio::test]
async fn their_files_can_be_read_and_not_be_changed() {
    let code = "\
import os, sympy
folder = os.path.dirname(sympy.__file__)
print(folder, len(open(sympy.__file__, 'rb').read()) > 100)
for change in (
    lambda: open(os.path.join(folder, 'new.py'), 'w'), lambda: os.remove(sympy.__file__), lambda: os.mkdir(folder + '/new'),
    lambda: os.rename(folder, '/tmp/sympy'), lambda: open(os.path.join(os.path.dirname(os.__file__), 'sitecustomize.py'), 'w'),
):
    try: change()
    except OSError as error: print(type(error).__name__, error.errno is not None)";
    let answer = run(code).await;
    let stdout = answer["stdout"].as_str().expect("text");
    assert!(stdout.starts_with("/lib/python3.13/site-packages/sympy True\n"), "{answer}");
    assert_eq!(stdout.lines().filter(|line| line.ends_with("Error True")).count(), 5, "{answer}");
}

#[tokio::test]
async fn a_request_can_put_nothing_beside_them() {
    for path in ["/lib/x.py", "/lib/python3.13/sitecustomize.py", "/lib/python3.13/site-packages/sympy/__init__.py"] {
        let (status, answer) = Server::shared().post("/v1/execute", &json!({"code": "1", "files": {path: ""}})).await;
        assert_eq!(status, 422, "{answer}");
        assert_shows(&answer, json!({"error": {"code": "bad_file", "field": "files"}}));
        let (status, answer) = Server::shared().post("/v1/sessions", &json!({"files": {path: ""}})).await;
        assert!((400..500).contains(&status), "{answer}");
    }
}

#[tokio::test]
async fn a_missing_package_is_told_with_whether_it_could_be_added() {
    for (module, said) in [
        ("pandas", "No module named 'pandas' (not in this image; the image `data` has it)"),
        (
            "humanize",
            "No module named 'humanize' (not in this image; a package without native code can be added to one)",
        ),
    ] {
        let answer = run(&format!("import {module}")).await;
        let error = json!({"class": "missing_dependency", "type": "ModuleNotFoundError", "message": said});
        assert_shows(&answer, json!({"stderr_class": "missing_dependency", "error": error}));
    }
}
