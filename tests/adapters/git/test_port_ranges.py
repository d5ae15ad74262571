"""Every workspace has its own port range."""

import shutil

from allstop.adapters.git.workspace.folders import (
    FIRST_PORT,
    PORTS,
    Meta,
    PortRanges,
    WorkspaceFolders,
)


def written_down(folder, name, port):
    tree = WorkspaceFolders(folder / name)
    tree.make()
    tree.write_meta(Meta(base="", target="main", port=port))


def test_a_range_is_promised_until_it_is_written_down(tmp_path):
    ports = PortRanges(tmp_path)

    with ports.reserve() as first, ports.reserve() as second:
        written_down(tmp_path, "one", first)
    with ports.reserve() as third:
        pass

    assert [first, second, third] == [FIRST_PORT, FIRST_PORT + PORTS, FIRST_PORT + PORTS]


def test_what_others_have_taken_and_given_back_is_known(tmp_path):
    ports = PortRanges(tmp_path)
    written_down(tmp_path, "one", FIRST_PORT)
    with ports.reserve() as beside_it:
        pass

    written_down(tmp_path, "two", FIRST_PORT + PORTS)
    with ports.reserve() as beside_both:
        pass
    shutil.rmtree(tmp_path / "one")
    with ports.reserve() as given_back:
        pass

    assert beside_it == FIRST_PORT + PORTS
    assert beside_both == FIRST_PORT + 2 * PORTS
    assert given_back == FIRST_PORT


def test_there_is_none_when_all_are_taken(tmp_path):
    ports = PortRanges(tmp_path)
    for number, port in enumerate(range(FIRST_PORT, 65_000, PORTS)):
        (tmp_path / str(number)).mkdir()
        WorkspaceFolders(tmp_path / str(number)).write_meta(Meta(base="", target="main", port=port))

    with ports.reserve() as port:
        assert port == 0
