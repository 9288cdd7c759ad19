import Dispatch
import Glibc
import JournalModel

/// The terminal in full-screen mode: whole screens are drawn, and keys arrive when they are pressed.
///
/// Only one task uses it. The previous contents return with ``restore()``.
final class FullScreen {
    /// The keys as they are pressed; they end with the terminal.
    let keys: AsyncStream<Key>
    private let source: any DispatchSourceRead
    private var original = termios()

    /// Starts full-screen mode; nil if input or output is no terminal that can draw.
    init?() {
        let kind = getenv("TERM").map { String(cString: $0) } ?? ""
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, !["", "dumb"].contains(kind) else { return nil }
        let (keys, key) = AsyncStream.makeStream(of: Key.self)
        self.keys = keys
        let queue = DispatchQueue(label: "keys")
        let source = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: queue)
        let reader = KeyReader(queue: queue, key: key)
        source.setEventHandler { reader.read() }
        self.source = source
        tcgetattr(STDIN_FILENO, &original)
        // Keys arrive at once and are not shown, Ctrl-S is a key, and Ctrl-C is a signal still; see termios(3). Ctrl-Z and Ctrl-\ would leave the
        // terminal in this mode.
        var mode = original
        mode.c_lflag &= ~tcflag_t(ICANON | ECHO | IEXTEN)
        mode.c_iflag &= ~tcflag_t(IXON)
        withUnsafeMutableBytes(of: &mode.c_cc) { ($0[Int(VSUSP)], $0[Int(VQUIT)]) = (0, 0) }
        tcsetattr(STDIN_FILENO, TCSANOW, &mode)
        source.resume()
        // The other screen, no cursor, no wrapping at the right edge.
        write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l")
    }

    /// The size now; see ioctl_tty(2).
    var size: ScreenSize {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else { return ScreenSize(rows: 24, columns: 80) }
        return ScreenSize(rows: Int(size.ws_row), columns: Int(size.ws_col))
    }

    /// Draws a whole screen.
    func draw(_ lines: [String]) {
        // What is there is erased before a line: behind a full line, the cursor is still on its last character.
        write("\u{1B}[H" + lines.map { "\u{1B}[J" + $0 }.joined(separator: "\r\n"))
    }

    /// Ends full-screen mode.
    func restore() {
        source.cancel()
        write("\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
        tcsetattr(STDIN_FILENO, TCSADRAIN, &original)
    }

    private func write(_ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { return }
            bytes = bytes.dropFirst(max(0, count))
        }
    }
}

/// Reads keys.
private final class KeyReader: @unchecked Sendable {
    // Only the queue uses the decoder and the count.
    private let queue: DispatchQueue
    private let key: AsyncStream<Key>.Continuation
    private var decoder = KeyDecoder()
    private var reads = 0

    /// How long the rest of a key's sequence may take.
    private static let patience = DispatchTimeInterval.milliseconds(50)

    init(queue: DispatchQueue, key: AsyncStream<Key>.Continuation) {
        self.queue = queue
        self.key = key
    }

    func read() {
        var bytes = [UInt8](repeating: 0, count: 1_024)
        let count = Glibc.read(STDIN_FILENO, &bytes, bytes.count)
        guard count > 0 else { return key.finish() }
        reads += 1
        for pressed in decoder.decode(bytes.prefix(count)) { key.yield(pressed) }
        guard decoder.isWaiting else { return }
        queue.asyncAfter(deadline: .now() + Self.patience) { [self, reads] in
            guard reads == self.reads else { return }
            for pressed in decoder.flush() { key.yield(pressed) }
        }
    }
}
