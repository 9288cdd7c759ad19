/// The name that a synchroniser gives to a file that lost a conflict, taken apart; that of Syncthing.
///
/// `Letter.sync-conflict-20260102-030405-ABCDEFG.txt` is a copy of `Letter.txt`: before the last dot of the name stand the local time and the short
/// identifier of the device that wrote the losing content (its source: `conflictName` in lib/model/folder_sendrecv.go; versions before 0.14.44 name
/// no device). Only a name that Syncthing would make of its original is one, so `Letter.txt.sync-conflict-20260102-030405-ABCDEFG` is not, nor is
/// one with a thirteenth month. A copy of a copy is one of the original.
package struct ConflictName: Hashable, Sendable {
    /// The name of the file that it is a copy of.
    package let original: String
    /// Tells it from the other copies of that file: `20260102-030405-ABCDEFG`.
    package let stamp: String
    /// The first seven characters of the device's identifier; nil where the name has none.
    package let device: String?

    private static let mark = Array(".sync-conflict-".utf8)

    /// Takes a name apart; nil where it is not that of a copy.
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

    /// The version's identifier among those of its item; it stays when the item and the copy are moved together.
    package var identifier: FileVersionIdentifier { FileVersionIdentifier(rawValue: "sync-conflict-\(stamp)") }

    /// Takes one mark out of a name.
    private static func strip(_ name: [UInt8]) -> (original: [UInt8], stamp: [UInt8], device: [UInt8]?)? {
        guard name.count > mark.count, let last = name.lastIndex(of: dot) else { return nil }
        // The mark holds one dot, its first byte: it is the last of the name, or the one before the extension's.
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
