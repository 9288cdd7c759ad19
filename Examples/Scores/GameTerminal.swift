import Dispatch
import Glibc

/// The terminal in full-screen mode: whole screens are drawn, and keys arrive when they are pressed.
///
/// Only one task uses it. The previous contents return with ``restore()``.
final class GameTerminal {
    /// The size in characters.
    struct Size {
        var rows: Int
        var columns: Int
    }

    /// The keys as they are pressed; they end with the terminal.
    let keys: AsyncStream<Character>
    private let reader: any DispatchSourceRead
    private var original = termios()

    /// Starts full-screen mode; nil if input or output is no terminal that can draw.
    init?() {
        let kind = getenv("TERM").map { String(cString: $0) } ?? ""
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, !["", "dumb"].contains(kind) else { return nil }
        let (keys, key) = AsyncStream.makeStream(of: Character.self)
        self.keys = keys
        let reader = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: DispatchQueue(label: "keys"))
        reader.setEventHandler {
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = read(STDIN_FILENO, &bytes, bytes.count)
            if count <= 0 { key.finish() }
            for byte in bytes.prefix(max(0, count)) { key.yield(Character(UnicodeScalar(byte))) }
        }
        self.reader = reader
        tcgetattr(STDIN_FILENO, &original)
        // Keys arrive at once and are not shown; ctrl-C is a signal still (termios(3)).
        var mode = original
        mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
        tcsetattr(STDIN_FILENO, TCSANOW, &mode)
        reader.resume()
        // The other screen, no cursor, no wrapping at the right edge.
        write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l")
    }

    /// The size now; see ioctl_tty(2).
    var size: Size {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else { return Size(rows: 24, columns: 80) }
        return Size(rows: Int(size.ws_row), columns: Int(size.ws_col))
    }

    /// Draws a whole screen.
    func draw(_ lines: [String]) {
        write("\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J")
    }

    /// Ends full-screen mode.
    func restore() {
        reader.cancel()
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
