# SPDX-License-Identifier: BSD-3-Clause
"""The calls of a run, from its truth alone: which instructions called, where each came back by PC and
SP. No debug information, no unwinder."""


class Frame:
    """A call or an exception that has not come back: where it returns to, and who called it."""

    __slots__ = ("back", "sp", "outer", "caller", "exception")

    def __init__(self, back, sp, outer, caller, exception=False):
        self.back, self.sp, self.outer = back, sp, outer
        self.caller = caller  # position of the call; of an exception the one it came before
        self.exception = exception


class Calls:
    def __init__(self, case):
        self.case = case
        self.taken = self._exceptions()
        self.frames = [None] * (case.count + 1)  # innermost frame at each position
        top = None
        for position in range(case.count):
            self.frames[position] = top
            top = self._after(position, top)
        self.frames[case.count] = top

    def _exceptions(self):
        """{position of the handler's first instruction: return address}"""
        found = {}
        for line in (self.case.folder / "path.log").read_text().splitlines():
            words = line.split()
            if words[1] == "exception":
                found[int(words[0])] = int(words[4], 16) & ~1
        return found

    def _after(self, position, top):
        case = self.case
        after = position + 1
        to, sp = case.pc(after), case.reg(after, 13)
        back = self.taken.get(after)
        target = to if back is None else back
        size = self._size(position)
        if self._calls(position) and target != case.pc(position) + size:
            top = Frame(case.pc(position) + size, case.reg(position, 13), top, position)
        elif top and not top.exception and target == top.back and (back is not None or
                                                                   sp == top.sp):
            top = top.outer
        if not case.machine.m_profile:
            return top
        if back is not None:
            return self._enter(top, back, sp, after)
        if (case.psr(position) ^ case.psr(after)) & 0x1ff:
            return self._leave(top)
        return top

    def _enter(self, top, back, sp, position):
        """A handler that finds a frame there already takes over from another one."""
        inner = top
        while inner and not inner.exception:
            inner = inner.outer
        if inner and inner.sp == sp:
            top = inner.outer
        return Frame(back, sp, top, position, True)

    @staticmethod
    def _leave(top):
        while top and not top.exception:
            top = top.outer
        return top.outer if top else None

    def _word(self, address):
        at = address - self.case.base
        return int.from_bytes(self.case.code[at:at + 4].ljust(4, b"\0"), "little")

    def _thumb(self, position):
        return self.case.psr(position) >> (24 if self.case.machine.m_profile else 5) & 1

    def _size(self, position):
        half = self._word(self.case.pc(position)) & 0xffff
        return 2 if self._thumb(position) and half >> 11 < 0x1d else 4

    def _calls(self, position):
        """Is it an instruction that writes a return address?"""
        word = self._word(self.case.pc(position))
        if not self._thumb(position):
            return (word & 0x0f000000 == 0x0b000000 and word >> 28 != 15 or
                    word >> 25 == 0x7d or word & 0x0ffffff0 == 0x012fff30)
        if self._size(position) == 2:
            return word & 0xff87 == 0x4780
        return word & 0xf800 == 0xf000 and word >> 16 & 0xd000 in (0xd000, 0xc000)

    def backtrace(self, position):
        """PCs, the newest first, up to main: there GDB stops."""
        found, frame = [self.case.pc(position)], self.frames[position]
        while frame and frame.outer:
            found.append(frame.back)
            frame = frame.outer
        return found

    def returns(self, position):
        """Where the frame of the position returns: the first position out of it; None: never."""
        frame = self.frames[position]
        if not frame:
            return None
        for after in range(position + 1, self.case.count + 1):
            if self._out_of(frame, after):
                return after
        return None

    def _out_of(self, frame, position):
        now = self.frames[position]
        while now:
            if now is frame:
                return False
            now = now.outer
        return True


def without_exceptions(backtrace):
    """GDB shows the exception itself as a frame."""
    return [pc for pc in backtrace if pc < 0xffffff00]


__all__ = ["Calls", "Frame", "without_exceptions", "bench"]
