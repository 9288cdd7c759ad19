import CLinux
import Dispatch
import Glibc
import ToolSupport

/// The program's terminal in full-screen mode: keys arrive when they are pressed, and the whole screen is drawn.
///
/// All work happens on a separate queue, so that neither a slow terminal nor a waiting read blocks other work. The
/// previous contents return when the program ends, is ended by a signal, or is stopped; full-screen mode returns when
/// it continues.
final class Terminal: @unchecked Sendable {
    // Only the queue uses the state.

    /// The inputs from the terminal.
    enum Input: Sendable {
        case keys([Key])
        /// The terminal has another size or unknown contents: everything must be drawn.
        case resized(Screen.Size)
        /// The program must end: because of SIGINT, SIGTERM, SIGHUP, or the loss of the terminal.
        case end
    }

    let inputs: AsyncStream<Input>
    private let input: AsyncStream<Input>.Continuation
    private let queue = DispatchQueue(label: "terminal")
    private var signals: SignalHandlers?
    private var reader: (any DispatchSourceRead)?
    private var original = termios()
    private var isTaken = false
    private var decoder = KeyDecoder()
    private var pieces = 0
    private var shown: Screen?
    private let hasColours: Bool

    /// How long the rest of a key's sequence may take.
    private static let patience = DispatchTimeInterval.milliseconds(50)

    /// Returns whether input and output are a terminal that supports drawing.
    static func canDraw(environment: [String: String]) -> Bool {
        let kind = environment["TERM"] ?? ""
        return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && !["", "dumb"].contains(kind)
    }

    init(hasColours: Bool) {
        self.hasColours = hasColours
        (inputs, input) = AsyncStream.makeStream()
    }

    /// Starts full-screen mode.
    ///
    /// - Returns: the terminal's size.
    func begin() -> Screen.Size {
        // Signals come first: an early signal must not leave the terminal in an unusable mode.
        let signals = SignalHandlers(SignalHandlers.ends + [SIGWINCH, SIGTSTP, SIGCONT], on: queue) { [weak self] in self?.received($0) }
        return queue.sync {
            self.signals = signals
            signal(SIGPIPE, SIG_IGN)
            signal(SIGTTOU, SIG_IGN)
            take()
            let reader = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: queue)
            reader.setEventHandler { [weak self] in self?.read() }
            reader.resume()
            self.reader = reader
            return Self.size
        }
    }

    /// Draws a screen; sends only the differences to the last one.
    func draw(_ screen: Screen) {
        queue.sync {
            guard isTaken else { return }
            write(ScreenDiff.bytes(from: shown, to: screen, hasColours: hasColours))
            shown = screen
        }
    }

    /// Restores the terminal.
    func end() {
        queue.sync {
            reader?.cancel()
            reader = nil
            signals?.cancel()
            signals = nil
            giveBack()
            input.finish()
        }
    }

    // MARK: On the queue

    private func take() {
        guard !isTaken else { return }
        tcgetattr(STDIN_FILENO, &original)
        var raw = original
        cfmakeraw(&raw)
        // Other output, such as warnings on standard error, still starts at the left edge.
        raw.c_oflag = original.c_oflag
        tcsetattr(STDIN_FILENO, TCSANOW, &raw)
        isTaken = true
        shown = nil
        // Alternate screen, no cursor, no wrapping at the right edge.
        write(Array("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l".utf8))
    }

    private func giveBack() {
        guard isTaken else { return }
        isTaken = false
        write(Array("\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l".utf8))
        tcsetattr(STDIN_FILENO, TCSADRAIN, &original)
    }

    private func received(_ number: Int32) {
        switch number {
        case SIGWINCH: redraw()
        case SIGTSTP: stop()
        case SIGCONT:
            // After SIGSTOP the shell has changed the terminal's mode.
            if isTaken {
                isTaken = false
                let before = original
                take()
                original = before
                redraw()
            }
        default: input.yield(.end)
        }
    }

    private func redraw() {
        shown = nil
        input.yield(.resized(Self.size))
    }

    /// Stops the program as SIGTSTP does by default, and continues when it is continued.
    private func stop() {
        giveBack()
        // The signal goes to this thread: one to the process may reach another thread later, after this one has
        // continued.
        raise(SIGSTOP)
        take()
        redraw()
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 1_024)
        let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
        guard count > 0 else {
            if count < 0, errno == EINTR || errno == EAGAIN { return }
            reader?.cancel()
            input.yield(.end)
            return
        }
        pieces += 1
        give(decoder.decode(buffer[..<count]))
        guard decoder.isWaiting else { return }
        queue.asyncAfter(deadline: .now() + Self.patience) { [weak self, pieces] in
            guard let self, pieces == self.pieces else { return }
            give(decoder.flush())
        }
    }

    private func give(_ keys: [Key]) {
        // In raw mode these keys arrive as ordinary bytes.
        if keys.contains(.control("z")) { stop() }
        if keys.contains(.control("c")) { input.yield(.end) }
        if keys.contains(.control("l")) { redraw() }
        let rest = keys.filter { ![.control("z"), .control("c"), .control("l")].contains($0) }
        if !rest.isEmpty { input.yield(.keys(rest)) }
    }

    private static var size: Screen.Size {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else { return .init(rows: 24, columns: 80) }
        return .init(rows: Int(size.ws_row), columns: Int(size.ws_col))
    }

    private func write(_ bytes: [UInt8]) {
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress! + offset, $0.count - offset) }
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN {
                    var descriptor = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                    poll(&descriptor, 1, -1)
                    continue
                }
                input.yield(.end)
                return
            }
            offset += count
        }
    }
}
