import Glibc
import Synchronization
import SystemPackage
import TreeWatching

/// Formats changes for the output.
protocol EventsPrinter: Sendable {
    func lines(for batch: TreeChangeBatch) -> [UInt8]
    /// Returns the output for SIGUSR1 and for the end.
    func summarise() -> [UInt8]
}

/// Prints one line for each change.
struct EventsLines: EventsPrinter {
    let json: Bool

    func summarise() -> [UInt8] { [] }

    func lines(for batch: TreeChangeBatch) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(batch.count * 160)
        for change in batch {
            if json { appendJSON(change, to: &text) } else { appendText(change, to: &text) }
            text.append(0x0A)
        }
        return text
    }

    private func appendText(_ change: TreeChange, to text: inout [UInt8]) {
        let (name, reason) = EventsLines.name(of: change.kind)
        EventsTime.append(change.time, to: &text)
        text.append(0x20)
        text.append(contentsOf: name.utf8)
        text.append(contentsOf: repeatElement(0x20, count: max(1, 11 - name.utf8.count)))
        change.withSourceBytes { source in
            EventsText.appendEscaped(source, to: &text)
            text.append(contentsOf: " -> ".utf8)
        }
        change.withPathBytes { EventsText.appendEscaped($0, to: &text) }
        if change.isDirectory, text.last != 0x2F { text.append(0x2F) }
        if let reason {
            text.append(contentsOf: " (\(reason))".utf8)
        }
    }

    private func appendJSON(_ change: TreeChange, to text: inout [UInt8]) {
        let (name, reason) = EventsLines.name(of: change.kind)
        text.append(contentsOf: "{\"tick\":\(change.tick),\"time\":\"".utf8)
        EventsTime.append(change.time, to: &text)
        text.append(contentsOf: "\",\"kind\":\"".utf8)
        text.append(contentsOf: name.utf8)
        text.append(contentsOf: "\",\"path\":".utf8)
        change.withPathBytes { EventsText.appendJSON($0, bytesKey: "pathBytes", to: &text) }
        change.withSourceBytes { source in
            text.append(contentsOf: ",\"from\":".utf8)
            EventsText.appendJSON(source, bytesKey: "fromBytes", to: &text)
        }
        text.append(contentsOf: (change.isDirectory ? ",\"isDirectory\":true" : ",\"isDirectory\":false").utf8)
        if change.isExchange { text.append(contentsOf: ",\"exchange\":true".utf8) }
        if let reason { text.append(contentsOf: ",\"reason\":\"\(reason)\"".utf8) }
        text.append(0x7D)
    }

    static func name(of kind: TreeChange.Kind) -> (name: StaticName, reason: String?) {
        switch kind {
        case .ready: ("ready", nil)
        case .created: ("created", nil)
        case .modified: ("modified", nil)
        case .removed: ("removed", nil)
        case .moved: ("moved", nil)
        case .attributes: ("attributes", nil)
        case .overflow: ("overflow", nil)
        case .rescanned: ("rescanned", nil)
        case .rootLost(let loss): ("rootLost", "\(loss)")
        case .rootBack: ("rootBack", nil)
        }
    }

    typealias StaticName = String
}

/// Formats bytes as text.
enum EventsText {
    /// Appends bytes as text, with escapes for control characters, backslashes and invalid UTF-8, so that a line stays
    /// one line.
    static func appendEscaped(_ bytes: UnsafeRawBufferPointer, to text: inout [UInt8]) {
        let isValid = isPlain(bytes) || String(validating: bytes, as: UTF8.self) != nil
        for (offset, byte) in bytes.enumerated() {
            switch byte {
            case 0x5C: text.append(contentsOf: "\\\\".utf8)
            case 0x0A: text.append(contentsOf: "\\n".utf8)
            case 0x09: text.append(contentsOf: "\\t".utf8)
            case 0..<0x20, 0x7F: appendHex(byte, "\\x", to: &text)
            case 0x80...: if isValid, !isControl(bytes, offset) { text.append(byte) } else { appendHex(byte, "\\x", to: &text) }
            default: text.append(byte)
            }
        }
    }

    /// Returns whether a byte of UTF-8 belongs to U+0080 to U+009F, which terminals treat as control characters: C2,
    /// and a byte below A0.
    private static func isControl(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Bool {
        if bytes[offset] == 0xC2 { return offset + 1 < bytes.count && bytes[offset + 1] < 0xA0 }
        return offset > 0 && bytes[offset - 1] == 0xC2 && bytes[offset] < 0xA0
    }

    /// Appends a JSON string; for invalid UTF-8 a lossy one, and the bytes in base64 under a second key.
    static func appendJSON(_ bytes: UnsafeRawBufferPointer, bytesKey: String, to text: inout [UInt8]) {
        text.append(0x22)
        if isPlain(bytes) {
            text.append(contentsOf: bytes)
            text.append(0x22)
            return
        }
        let isValid = String(validating: bytes, as: UTF8.self) != nil
        for byte in String(decoding: bytes, as: UTF8.self).utf8 {
            switch byte {
            case 0x22: text.append(contentsOf: "\\\"".utf8)
            case 0x5C: text.append(contentsOf: "\\\\".utf8)
            case 0x0A: text.append(contentsOf: "\\n".utf8)
            case 0..<0x20, 0x7F: appendHex(byte, "\\u00", to: &text)
            default: text.append(byte)
            }
        }
        text.append(0x22)
        if isValid { return }
        text.append(contentsOf: ",\"\(bytesKey)\":\"".utf8)
        appendBase64(bytes, to: &text)
        text.append(0x22)
    }

    /// Returns whether all bytes are printable ASCII that needs no escape in any format.
    private static func isPlain(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }
    }

    private static func appendHex(_ byte: UInt8, _ prefix: String, to text: inout [UInt8]) {
        let digits = Array("0123456789abcdef".utf8)
        text.append(contentsOf: prefix.utf8)
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
    }

    /// Appends base64 with padding (RFC 4648).
    static func appendBase64(_ bytes: UnsafeRawBufferPointer, to text: inout [UInt8]) {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var offset = 0
        while offset < bytes.count {
            let count = min(3, bytes.count - offset)
            var group: UInt32 = 0
            for position in 0..<3 { group = group << 8 | (position < count ? UInt32(bytes[offset + position]) : 0) }
            for position in 0..<4 { text.append(position <= count ? alphabet[Int(group >> UInt32(18 - 6 * position) & 63)] : 0x3D) }
            offset += 3
        }
    }
}

/// Formats times in RFC 3339, in UTC with microseconds.
enum EventsTime {
    /// The last formatted second, because most changes follow within a second.
    private static let last = Mutex<(second: Int64, text: [UInt8])>((.min, []))

    static func append(_ time: Duration, to text: inout [UInt8]) {
        let (seconds, attoseconds) = time.components
        text.append(
            contentsOf: last.withLock { last in
                if last.second != seconds { last = (seconds, format(seconds)) }
                return last.text
            })
        text.append(0x2E)
        var micro = attoseconds / 1_000_000_000_000
        var divisor: Int64 = 100_000
        while divisor > 0 {
            text.append(0x30 + UInt8(micro / divisor))
            micro %= divisor
            divisor /= 10
        }
        text.append(0x5A)
    }

    private static func format(_ seconds: Int64) -> [UInt8] {
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        var buffer = [CChar](repeating: 0, count: 32)
        let count = strftime(&buffer, buffer.count, "%Y-%m-%dT%H:%M:%S", &parts)
        return buffer[..<count].map { UInt8(bitPattern: $0) }
    }
}
