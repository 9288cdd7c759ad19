/// The container with a scope that a store lies in: many accounts read and write it, and every reader proves their rights
/// by signatures.
///
/// ```swift
/// options.scope = .public("c7k…", at: "/srv/game")
/// options.scope = .public("c7k…", at: "https://game.example/public")
/// ```
///
/// A store reads a container in a directory file by file, as soon as a file arrives. It reads a public place, which
/// `ubcontrol public publish` writes and any web server serves, from time to time: see ``StoreOptions/Advanced/polling``.
public struct StoreScope: Hashable, Sendable {
    /// The container's identifier.
    public let container: String
    /// The path of the directory that holds `public/<container>`, or the address of a public place.
    public let root: String
    /// The path of the directory that holds this device's own files of the container, if the store reads a public place; nil
    /// for a store that only reads.
    public let contributions: String?

    /// A public container: anybody reads it, and the accounts that it admits write their own records.
    ///
    /// - Parameters:
    ///   - container: the container's identifier, 52 digits of base 32, as `ubcontrol public create` prints it.
    ///   - root: the path of the directory that holds `public/<container>`, such as a synchronised folder; or the address of
    ///     a public place, which begins with `https://`, `http://` or `file://`.
    ///   - contributions: for a public place, the path of a directory that gets this device's files, and that something
    ///     carries to the publisher, such as a synchronised folder. Nil for a store that only reads.
    /// - Returns: the scope. What is wrong with it is reported when a store is opened.
    public static func `public`(_ container: String, at root: String, contributingTo contributions: String? = nil) -> StoreScope {
        StoreScope(container: container, root: root, contributions: contributions)
    }

    /// Whether the root is the address of a public place.
    package var isPlace: Bool { root.contains("://") }
}

/// When a store asks a public place for news.
public struct PlacePolling: Hashable, Sendable {
    /// The time between two questions.
    public var period: Duration
    /// The part of the period by which each question comes earlier or later, from 0 to 1, so that not all readers ask at
    /// once.
    public var jitter: Double

    /// Creates a rule.
    ///
    /// - Parameters:
    ///   - period: the time between two questions.
    ///   - jitter: the part of the period by which each question comes earlier or later, from 0 to 1.
    public init(period: Duration = .seconds(1800), jitter: Double = 0.1) { (self.period, self.jitter) = (period, jitter) }

    /// Returns the time until the next question.
    ///
    /// - Parameter random: a number from 0 to 1.
    /// - Returns: the time, which is never negative.
    package func pause(_ random: Double) -> Duration {
        let jitter = min(max(jitter, 0), 1)
        return max(.zero, period * (1 + jitter * (2 * random - 1)))
    }
}
