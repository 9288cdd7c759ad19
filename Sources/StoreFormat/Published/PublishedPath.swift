/// The paths of a place's files, below the directory or the address of the place.
///
/// ```
/// head                                            the newest head, the one file that is overwritten
/// heads/<number>.<hash>.ubhead
/// authority/<number>.<hash>.ubbundle
/// bundles/accounts/<level>/<after>-<last>.<hash>.ubbundle
/// bundles/tables/<table>/<level>/<after>-<last>.<hash>.ubbundle
/// snapshots/<table>/<number>[.<digit>].<hash>.ubbaseline
/// snapshots/<table>/<number>[.<digit>].<hash>.ubdeaths
/// bases/<hash>.ubbaseline
/// values/<hash>
/// ```
package enum PublishedPath: Hashable, Sendable {
    case newestHead
    case head(Int64, StatementIdentifier)
    /// All policies.
    case authority(Int64, ContentHash)
    case bundle(PublishedHead.Channel, HeadRange, ContentHash)
    case snapshot(table: String, digit: String, Int64, ContentHash)
    case deaths(table: String, digit: String, Int64, ContentHash)
    /// A baseline that a statement names.
    case base(ContentHash)
    /// A large value.
    case value(ContentHash)

    /// The names of the directories and the file.
    package var components: [String] {
        switch self {
        case .newestHead: return ["head"]
        case .head(let number, let id): return ["heads", "\(number).\(id.hash).ubhead"]
        case .authority(let number, let hash): return ["authority", "\(number).\(hash).ubbundle"]
        case .bundle(let channel, let range, let hash):
            return ["bundles"] + Self.names(of: channel) + ["\(range.level)", "\(range.after)-\(range.last).\(hash).ubbundle"]
        case .snapshot(let table, let digit, let number, let hash):
            return ["snapshots", Self.escaped(table), "\(number)\(digit.isEmpty ? "" : ".\(digit)").\(hash).ubbaseline"]
        case .deaths(let table, let digit, let number, let hash):
            return ["snapshots", Self.escaped(table), "\(number)\(digit.isEmpty ? "" : ".\(digit)").\(hash).ubdeaths"]
        case .base(let hash): return ["bases", "\(hash).ubbaseline"]
        case .value(let hash): return ["values", "\(hash)"]
        }
    }

    private static func names(of channel: PublishedHead.Channel) -> [String] {
        switch channel {
        case .accounts: ["accounts"]
        case .table(let name): ["tables", escaped(name)]
        }
    }

    /// Returns a table's name as the name of a directory that every file system and every web server keeps: other
    /// characters than letters, digits, `-` and `_` become `=` and two hexadecimal digits a byte, and so do capitals.
    private static func escaped(_ table: String) -> String {
        var name = ""
        for byte in table.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                name.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = Array("0123456789abcdef")
                name += "=\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
        return name
    }
}

extension PublishedHead {
    /// The paths of the files that the head names.
    package var paths: [PublishedPath: PublishedFile] {
        var paths: [PublishedPath: PublishedFile] = [.authority(authority.written, authority.file.hash): authority.file]
        for (channel, files) in bundles { for (range, file) in files { paths[.bundle(channel, range, file.hash)] = file } }
        for (name, table) in tables { for (digit, part) in table.parts { paths.merge(part.paths(of: name, digit)) { first, _ in first } } }
        return paths
    }
}

extension PublishedHead.Snapshot {
    /// The paths of the snapshot's files.
    ///
    /// - Parameters:
    ///   - table: the name of the table.
    ///   - digit: the digit of the part.
    /// - Returns: each path with its file.
    package func paths(of table: String, _ digit: String) -> [PublishedPath: PublishedFile] {
        var paths: [PublishedPath: PublishedFile] = [.snapshot(table: table, digit: digit, written, records.hash): records]
        if let deaths { paths[.deaths(table: table, digit: digit, written, deaths.hash)] = deaths }
        return paths
    }
}
