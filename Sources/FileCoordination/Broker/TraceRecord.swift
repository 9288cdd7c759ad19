/// An event of a client, for a checker in another process.
package enum TraceRecord: Sendable {
    case event(ArbiterEvent)
    case action(ArbiterAction)
    /// An entry that the writer defines.
    case note(kind: UInt8, number: Int, text: String)

    /// Returns the record's bytes, after the time and their count.
    package func bytes(at time: UInt64) -> [UInt8] {
        var writer = WireWriter()
        writer.fixed(time)
        switch self {
        case .event(let event):
            writer.byte(0)
            writer.put(event)
        case .action(let action):
            writer.byte(1)
            writer.put(action)
        case .note(let kind, let number, let text):
            writer.byte(2)
            writer.byte(kind)
            writer.put(number)
            writer.put(text)
        }
        var bytes: [UInt8] = []
        withUnsafeBytes(of: UInt32(writer.bytes.count).littleEndian) { bytes.append(contentsOf: $0) }
        return bytes + writer.bytes
    }

    /// Reads records until the bytes end or are not a record.
    package static func read(_ bytes: [UInt8]) -> [(time: UInt64, record: TraceRecord)] {
        var records: [(UInt64, TraceRecord)] = []
        var position = 0
        while bytes.count - position >= 4 {
            let count = (0..<4).reduce(0) { $0 | Int(bytes[position + $1]) << ($1 * 8) }
            guard count <= bytes.count - position - 4, let next = try? one(bytes[position + 4..<position + 4 + count]) else { break }
            records.append(next)
            position += 4 + count
        }
        return records
    }

    private static func one(_ bytes: ArraySlice<UInt8>) throws(WireError) -> (UInt64, TraceRecord) {
        var reader = WireReader(bytes)
        let time = try reader.fixed()
        switch try reader.byte() {
        case 0: return (time, .event(try reader.get()))
        case 1: return (time, .action(try reader.get()))
        default: return (time, .note(kind: try reader.byte(), number: try reader.get(), text: try reader.get()))
        }
    }
}
