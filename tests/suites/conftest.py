"""`pytest --suites tests/suites`: tests of other projects, from the package index.  Without --suites, none is
collected."""


def pytest_addoption(parser):
    parser.getgroup("suites").addoption("--suites", action="store_true", help="run tests/suites")


def pytest_ignore_collect(config):
    return not config.getoption("--suites", False) or None
