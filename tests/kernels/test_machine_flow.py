"""The reader of machine code finds a descriptor that one path leaves unset."""

from __future__ import annotations

from machine_flow import unset_descriptors

#: two loops over tiles; the descriptor of Q in UR4 and UR5 is set before the first of them alone
TWO_LOOPS = """
        /*0010*/                   UMOV UR6, URZ ;
        /*0020*/                   ULDC.64 UR28, c[0x0][0x540] ;
        /*0030*/                   ULDC.64 UR30, c[0x0][0x548] ;
        /*0040*/                   UMOV UR7, 0x40000040 ;
        /*0050*/              @!P0 BRA `(.L_x_8) ;
{first}
.L_x_10:
        /*0080*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR28], RZ, !UPT ;
        /*0090*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], R24, gsb0 ;
        /*00a0*/               @P0 BRA `(.L_x_10) ;
.L_x_8:
{second}
        /*00c0*/              @!P1 BRA `(.L_x_11) ;
.L_x_13:
        /*00d0*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR28], RZ, !UPT ;
        /*00e0*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], R24, gsb0 ;
        /*00f0*/                   HGMMA.64x64x16.F32.BF16 R88, R148, gdesc[UR20].tnspB, R88, gsb0 ;
        /*0100*/               @P0 BRA `(.L_x_13) ;
.L_x_11:
        /*0110*/                   EXIT ;
"""
SET = """        /*00{a}0*/                   UIADD3.X UR5, UR4, 0x40000040, URZ, UP0, !UPT ;
        /*00{a}8*/                   UIADD3 UR4, UP0, UR28, 0x2, URZ ;"""
VALUES = "        /*00b8*/                   UIADD3.64 UR22, UR18, 0x80, URZ ;"


def code(*, first: bool, second: bool) -> str:
    return TWO_LOOPS.format(
        first=SET.format(a=6) if first else "",
        second="\n".join([SET.format(a="b")] * second + [VALUES]),
    )


def test_set_before_each_loop() -> None:
    assert unset_descriptors(code(first=True, second=True)) == []


def test_set_before_the_first_alone() -> None:
    (found,) = unset_descriptors(code(first=True, second=False))
    assert found.startswith("00e0: HGMMA") and found.endswith("reads UR4")


def test_never_set() -> None:
    assert len(unset_descriptors(code(first=False, second=False))) == 2


def test_the_left_factor_may_be_in_registers() -> None:
    """Its product reads one descriptor, the upper half of the four registers it names."""
    lacking = code(first=True, second=True).replace(VALUES, "")
    (found,) = unset_descriptors(lacking)
    assert "R148" in found and found.endswith("reads UR22")
