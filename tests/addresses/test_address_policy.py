"""P11: which addresses notifications may go to, in all notations of an address."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.addresses.address_policy import parse, refusal, unwrap_ipv4
from support.cases import for_each

LOCAL = ["127.0.0.1", "127.255.0.9", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1"]
LOCAL += ["100.64.0.1", "::1", "fd12::1", "fc00::1"]
CORE = ["169.254.169.254", "169.254.0.1", "168.63.129.16", "100.100.100.200", "192.0.0.192"]
CORE += ["fd00:ec2::254", "fd20:ce::254", "fe80::1", "fec0::1"]
NOBODY = ["0.0.0.0", "0.1.2.3", "224.0.0.1", "255.255.255.255", "240.0.0.1", "198.18.0.1", "::"]
NOBODY += ["ff02::1", "2001:db8::1", "2001::1", "192.0.2.1", "203.0.113.9", "100::1"]
FINE = ["1.1.1.1", "93.184.215.14", "172.32.0.1", "100.63.255.255", "2606:4700::1111"]


def wrapped(address):
    number = int(IPv4Address(address))
    return [
        IPv6Address(f"::ffff:{address}"),
        IPv6Address(f"::{address}") if number > 1 else IPv6Address("::"),
        IPv6Address(f"64:ff9b::{address}"),
        IPv6Address(f"64:ff9b:1::{address}"),
        IPv6Address(f"::ffff:0:{address}"),
        IPv6Address((0x2002 << 112) | (number << 80) | 1),
    ]


@for_each("address", LOCAL + CORE + NOBODY)
def test_p11_what_is_not_out_there_is_refused(address):
    assert refusal(parse(address))


@for_each("address", [each for each in LOCAL + CORE + NOBODY if "." in each])
def test_p11_an_address_in_another_is_seen_through(address):
    assert all(refusal(each) for each in wrapped(address))


@pytest.mark.parametrize("address", FINE)
def test_p11_what_is_out_there_is_not_refused(address):
    assert refusal(parse(address)) == ""


@pytest.mark.parametrize("address", LOCAL)
def test_p11_a_person_can_allow_their_own_network(address):
    assert refusal(parse(address), private=True) == ""


@for_each("address", CORE + NOBODY)
def test_p11_nobody_can_allow_a_clouds_core(address):
    assert refusal(parse(address), private=True)


def test_p11_an_address_that_this_machine_has_out_there_is_its_own():
    mine = ip_address("93.184.215.14")

    assert refusal(IPv6Address("::ffff:93.184.215.14"), own=[mine])
    assert refusal(mine, own=[mine], private=True) == ""


def test_p11_the_name_of_an_interface_is_no_part_of_an_address():
    assert refusal(parse("fe80::1%eth0"))


@given(st.ip_addresses(v=4))
def test_p11_however_it_is_wrapped_it_is_judged_alike(address):
    if int(address) < 2**16:
        return  # low values are reserved IPv6 addresses, refused as such

    verdicts = {refusal(each) for each in wrapped(str(address))}

    assert verdicts == {refusal(address)}
    assert {unwrap_ipv4(each) for each in wrapped(str(address))} == {address}
