/// A fact about a broker, for the service manager that has started it.
package enum BrokerNews: Sendable, Hashable {
    /// It serves a number of clients: the first news, and news after each change, at most one a second.
    case serving(clients: Int)
    /// Its loop runs.
    case alive
    /// It is about to leave.
    case leaving
}

/// Decides when a broker's loop tells what.
struct BrokerPulse {
    /// The least time between two numbers of clients, in nanoseconds: many programs come and go at once.
    private static let quiet: UInt64 = 1_000_000_000

    /// The time between two signs of life, in nanoseconds; nil for none.
    private let interval: UInt64?
    private var told: (clients: Int, time: UInt64)?
    private var beaten: UInt64?

    /// Makes a pulse.
    ///
    /// - Parameter interval: the time between two signs of life; nil for none.
    init(every interval: Duration?) { self.interval = interval.map { UInt64(max($0 / .nanoseconds(1), 1)) } }

    /// Returns the news that are due now.
    mutating func news(clients: Int, at now: UInt64) -> [BrokerNews] {
        var news: [BrokerNews] = []
        if told.map({ $0.clients != clients && now >= $0.time + Self.quiet }) ?? true {
            told = (clients, now)
            news.append(.serving(clients: clients))
        }
        if let interval, beaten.map({ now >= $0 + interval }) ?? true {
            beaten = now
            news.append(.alive)
        }
        return news
    }

    /// When there is something to tell next; nil if only another event decides.
    func next(clients: Int) -> UInt64? {
        var next: UInt64?
        if let told, told.clients != clients { next = told.time + Self.quiet }
        if let interval, let beaten { next = min(next ?? .max, beaten + interval) }
        return next
    }
}
