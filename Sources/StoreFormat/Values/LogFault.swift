/// The reason why a log cannot be used.
package enum LogFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// The bytes are truncated, altered or foreign.
    case damaged(String)
    /// A newer version wrote the log.
    case newer(String)

    /// The reason in words, to follow the file's name.
    package var description: String {
        switch self {
        case .damaged(let reason): reason
        case .newer(let reason): "\(reason), which this version cannot read: update this program"
        }
    }
}
