package import Foundation

/// The parsed name that Syncthing gives to a file that lost a conflict.
///
/// `Letter.sync-conflict-20260102-030405-ABCDEFG.txt` is a copy of `Letter.txt`: the local time and the short
/// identifier of the device that wrote the losing content stand before the last dot of the name (see `conflictName` in
/// Syncthing's lib/model/folder_sendrecv.go; versions before 0.14.44 name no device). Only names that Syncthing would
/// make from the original count. `Letter.txt.sync-conflict-20260102-030405-ABCDEFG` therefore does not, nor does a name
/// with a thirteenth month. A copy of a copy is a copy of the original.
package struct ConflictName: Hashable, Sendable {
    /// The name of the original file.
    package let original: String
    /// The part that distinguishes the copies of one file: `20260102-030405-ABCDEFG`.
    package let stamp: String
    /// The first seven characters of the device's identifier; nil if the name has none.
    package let device: String?

    private static let mark = Array(".sync-conflict-".utf8)

    /// Parses a name; nil if it is not that of a copy.
    ///
    /// - Parameter name: any name.
    package init?(_ name: String) {
        guard let (outer, stamp, device) = Self.strip(Array(name.utf8)) else { return nil }
        var (original, stamps) = (outer, [stamp])
        while let (inner, stamp, _) = Self.strip(original) {
            original = inner
            stamps.insert(stamp, at: 0)
        }
        self.original = String(decoding: original, as: UTF8.self)
        self.stamp = stamps.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ".")
        self.device = device.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the name of a conflict copy.
    ///
    /// - Parameters:
    ///   - original: the name of the item.
    ///   - modified: the time of the copy's last change, in milliseconds since 1970.
    ///   - device: seven letters from A to Z or digits from 2 to 7.
    /// - Returns: the name, which ``init(_:)`` parses.
    package static func name(for original: String, modified: Int64, device: String) -> String {
        let date = Date(timeIntervalSince1970: Double(min(max(0, modified), 4_102_444_800_000)) / 1000)
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0)!
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
        func digits(_ value: Int?, _ count: Int) -> String {
            let text = "\(value ?? 0)"
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let day = digits(parts.year, 4) + digits(parts.month, 2) + digits(parts.day, 2)
        let time = digits(parts.hour, 2) + digits(parts.minute, 2) + digits(parts.second, 2)
        return insert(".sync-conflict-\(day)-\(time)-\(device)", into: original)
    }

    /// The identifier of the version within its item; it stays when the item and the copy move together.
    package var identifier: FileVersionIdentifier { FileVersionIdentifier(rawValue: "sync-conflict-\(stamp)") }

    /// Makes the name again from the identifier of a version and the name of its item; nil if it is no identifier of a copy.
    package init?(_ identifier: FileVersionIdentifier, of original: String) {
        let stamps = identifier.rawValue.split(separator: "sync-conflict-", omittingEmptySubsequences: false)
        guard stamps.count == 2, stamps[0].isEmpty else { return nil }
        var text = original
        for stamp in stamps[1].split(separator: ".") { text = Self.insert(".sync-conflict-\(stamp)", into: text) }
        guard text != original, let name = ConflictName(text), name.original == original, name.identifier == identifier else { return nil }
        self = name
    }

    /// The name of the copy.
    package var copy: String {
        stamp.split(separator: ".").reduce(original) { Self.insert(".sync-conflict-\($1)", into: $0) }
    }

    /// The time in the name, which is in the time zone of the device that wrote it, and taken for UTC here.
    package var date: Date? {
        let digits = stamp.prefix(15).filter(\.isNumber)
        guard digits.count == 14 else { return nil }
        func number(_ from: Int, _ count: Int) -> Int? { Int(digits.dropFirst(from).prefix(count)) }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0)!
        let parts = DateComponents(
            year: number(0, 4), month: number(4, 2), day: number(6, 2), hour: number(8, 2), minute: number(10, 2), second: number(12, 2))
        return calendar.date(from: parts)
    }

    private static func insert(_ mark: String, into name: String) -> String {
        guard let dot = name.lastIndex(of: ".") else { return name + mark }
        return name[..<dot] + mark + name[dot...]
    }

    /// Removes one mark from a name.
    private static func strip(_ name: [UInt8]) -> (original: [UInt8], stamp: [UInt8], device: [UInt8]?)? {
        guard name.count > mark.count, let last = name.lastIndex(of: dot) else { return nil }
        // The mark contains one dot, its first byte. That dot is the last in the name, or the one before the
        // extension's.
        if let (stamp, device) = parse(name[last...]) {
            let original = name[..<last]
            return original.isEmpty || original.contains(dot) ? nil : (Array(original), stamp, device)
        }
        guard let begin = name[..<last].lastIndex(of: dot), let (stamp, device) = parse(name[begin..<last]) else { return nil }
        let original = Array(name[..<begin] + name[last...])
        return original == [dot] || original == [dot, dot] ? nil : (original, stamp, device)
    }

    /// Reads `.sync-conflict-YYYYMMDD-HHMMSS-DEVICE`.
    private static func parse(_ text: ArraySlice<UInt8>) -> (stamp: [UInt8], device: [UInt8]?)? {
        guard text.starts(with: mark) else { return nil }
        let stamp = Array(text.dropFirst(mark.count))
        guard stamp.count == 15 || stamp.count == 23, stamp[8] == dash else { return nil }
        func number(_ range: Range<Int>) -> Int? {
            stamp[range].allSatisfy { (0x30...0x39).contains($0) } ? stamp[range].reduce(0) { $0 * 10 + Int($1 - 0x30) } : nil
        }
        guard number(0..<4) != nil, let month = number(4..<6), let day = number(6..<8), (1...12).contains(month), (1...31).contains(day),
            let hour = number(9..<11), let minute = number(11..<13), let second = number(13..<15), hour < 24, minute < 60, second < 61
        else { return nil }
        if stamp.count == 15 { return (stamp, nil) }
        // Base 32, RFC 4648.
        let device = stamp[16...]
        guard stamp[15] == dash, device.allSatisfy({ (0x41...0x5A).contains($0) || (0x32...0x37).contains($0) }) else { return nil }
        return (stamp, Array(device))
    }

    private static let dot = UInt8(ascii: ".")
    private static let dash = UInt8(ascii: "-")
}
