"""`pytest --suites tests/suites`: tests that others wrote, from the package index.  Else none is collected."""


def pytest_addoption(parser):
    parser.getgroup("suites").addoption("--suites", action="store_true", help="run tests/suites")


def pytest_ignore_collect(config):
    return not config.getoption("--suites", False) or None
