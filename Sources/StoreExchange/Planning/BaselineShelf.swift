package import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// The known baselines of a content, and the decisions about joining, writing and trimming them.
struct BaselineShelf: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The header of a baseline, as read from its file.
    enum Header: Sendable {
        case readable(BaselineHeader)
        /// The baseline cannot be used in its present state.
        case faulty
    }

    /// Whether the store waits for the logs that a baseline holds.
    enum Patience: Equatable, Sendable {
        case until(Instant)
        case over
    }

    /// A baseline that holds logs which this store lacks.
    struct News: Equatable, Sendable {
        var id: BaselineID
        /// The number of logs that this store lacks.
        var lag: Int64
        /// The reason why this store's schema cannot take the baseline, with its writer's schema; nil if it can.
        var obstacle: Obstacle?
    }

    /// The reason why a baseline is not joined.
    enum Obstacle: Equatable, Sendable {
        /// The baseline is a few logs ahead, and those logs may still arrive.
        case fewLogs(Int64)
        case schema(obstacle: String, authors: String)
    }

    enum Decision: Equatable, Sendable {
        case join
        case passOver(Obstacle)
    }

    /// A baseline of which this store holds everything.
    typealias Usable = (id: BaselineID, header: BaselineHeader)

    /// The number of missing logs from which joining a baseline is faster than joining the logs.
    static let worthwhile: Int64 = 500
    /// The time for which the store waits for fewer logs, which may arrive after the baseline.
    static let grace = Duration.seconds(5)

    private(set) var headers: [BaselineID: Header] = [:]
    /// The baselines that hold nothing that this store lacks.
    var contained: Set<BaselineID> = []
    /// The complete baselines whose content this store cannot hold.
    var refused: Set<BaselineID> = []
    /// The baselines that have been read to the end and are complete.
    var verified: Set<BaselineID> = []
    /// The baselines that are only a few logs ahead of this store.
    private(set) var later: [BaselineID: Patience] = [:]
    /// The approximate size in bytes of the logs outside any baseline: one measurement, plus later arrivals.
    var looseBytes = 0
    private(set) var hasMeasuredLoose = false
    /// The last own log up to which trimming has removed logs, as far as known since the last complete listing.
    private(set) var trimmed: Int64 = 0

    // MARK: State

    /// Records that a baseline has arrived, changed or gone.
    mutating func changed(_ id: BaselineID, isThere: Bool) {
        headers[id] = nil
        refused.remove(id)
        verified.remove(id)
        if !isThere { later[id] = nil }
    }

    mutating func read(_ header: BaselineHeader, of id: BaselineID) { headers[id] = .readable(header) }

    mutating func forgetHeader(of id: BaselineID) { headers[id] = nil }

    mutating func fault(_ id: BaselineID) { headers[id] = .faulty }

    /// Records that the store holds everything in a baseline.
    mutating func contain(_ id: BaselineID) {
        contained.insert(id)
        later[id] = nil
    }

    /// Prepares for a complete listing, in which another file may have replaced an unusable baseline.
    mutating func relist() {
        headers = headers.filter { if case .readable = $0.value { true } else { false } }
        trimmed = 0
    }

    /// Forgets the baselines of an epoch that has ended.
    mutating func forget() {
        (headers, contained, verified, refused, later, looseBytes) = ([:], [], [], [], [:], 0)
    }

    // MARK: Joining

    /// The time at which a baseline is joined even if its logs have not arrived.
    var nextTime: Instant? {
        later.values.compactMap { if case .until(let time) = $0 { time } else { nil } }.min()
    }

    /// Whether the store waits for logs that a baseline holds.
    var awaitsLogs: Bool { nextTime != nil }

    /// Stops waiting for the logs of all baselines except the given ones.
    mutating func keepLater(of news: [News]) {
        let ids = Set(news.map(\.id))
        later = later.filter { ids.contains($0.key) }
    }

    /// Decides whether a baseline is joined now.
    ///
    /// - Parameters:
    ///   - news: the baseline.
    ///   - isFirst: whether the logs in the container have not been joined yet.
    ///   - isEager: whether the store waits for nothing.
    ///   - knowsOthers: whether this store has logs of other peers. A store without any joins a baseline at once.
    ///   - now: the time.
    /// - Returns: the decision, with the reason if the baseline is not joined.
    mutating func decide(_ news: News, isFirst: Bool, isEager: Bool, knowsOthers: Bool, at now: Instant) -> Decision {
        guard isFirst ? news.lag >= Self.worthwhile : isEager || isOverdue(news.id, knowsOthers: knowsOthers, at: now) else {
            return .passOver(.fewLogs(news.lag))
        }
        return news.obstacle.map { .passOver($0) } ?? .join
    }

    /// Returns whether the store has waited long enough for the logs that a baseline holds.
    private mutating func isOverdue(_ id: BaselineID, knowsOthers: Bool, at now: Instant) -> Bool {
        switch later[id] {
        case .over: return true
        case .until(let limit):
            if limit <= now { later[id] = .over }
            return limit <= now
        case nil:
            if knowsOthers { later[id] = .until(now + Self.grace) }
            return !knowsOthers
        }
    }

    // MARK: Rolling and trimming

    func needsMeasure(_ policy: BaselinePolicy) -> Bool { !hasMeasuredLoose || looseBytes >= policy.bytes }

    mutating func measured(_ bytes: Int) { (looseBytes, hasMeasuredLoose) = (bytes, true) }

    /// Records that this store has written a baseline of everything that it holds.
    mutating func rolled(_ id: BaselineID) {
        contained.insert(id)
        looseBytes = 0
    }

    /// Returns the number of this peer's next baseline.
    static func next(of peer: PeerIdentifier, among baselines: Set<BaselineID>) -> Int64 {
        (baselines.filter { $0.peer == peer }.map(\.name.sequence).max() ?? 0) + 1
    }

    /// Returns the number of a store's logs that are in no baseline of which the store holds everything.
    static func loose(_ knowledge: Knowledge, besides usable: [Usable]) -> Int64 {
        (usable.map(\.header.knowledge) + [Knowledge()]).map { knowledge.count(beyond: $0) }.min()!
    }

    /// A baseline, and the last own log that can be removed because of it.
    struct Trim: Equatable {
        var id: BaselineID
        var limit: Int64
    }

    /// Returns the baselines that allow the removal of own logs, the one that allows most first.
    ///
    /// - Parameters:
    ///   - passed: the baselines of which the store holds everything, each with the last own log before any gap in it.
    ///   - limit: the last own log that every active peer has read.
    /// - Returns: the baselines. The list is empty if nothing more can be removed.
    func trims(_ passed: [(id: BaselineID, sequence: Int64)], limit: Int64) -> [Trim] {
        let trims = passed.sorted { $0.sequence > $1.sequence }.map { Trim(id: $0.id, limit: min(limit, $0.sequence)) }
        guard let greatest = trims.first?.limit, greatest > trimmed else { return [] }
        return trims
    }

    /// Records that no own logs are left up to a sequence.
    mutating func trim(upTo sequence: Int64) { trimmed = sequence }

    /// Returns the baselines that hold everything in another one, and more.
    static func greater(than one: Usable, among usable: [Usable], within all: Knowledge) -> [Usable] {
        usable.filter { $0.id != one.id && $0.header.knowledge.holds(one.header.knowledge, orIsEqual: $0.id > one.id, within: all) }
    }
}

extension Knowledge {
    /// Returns whether this knowledge certainly includes another, and more.
    ///
    /// For an identifier with several branches, each head must be equal.
    ///
    /// - Parameters:
    ///   - other: the other knowledge.
    ///   - orIsEqual: the result for equal knowledge.
    ///   - all: knowledge that includes both.
    /// - Returns: whether it does.
    package func holds(_ other: Knowledge, orIsEqual: Bool, within all: Knowledge) -> Bool {
        if self == other { return orIsEqual }
        let isWhole = holes.allSatisfy { peer, positions in
            positions.allSatisfy { other.holes[peer]?.contains($0) == true || other.sequence(of: peer) < $0.sequence }
        }
        guard isWhole else { return false }
        return other.heads.allSatisfy { peer, positions in
            guard let own = heads[peer] else { return false }
            if own == positions { return true }
            return all.heads[peer]?.count == 1 && positions.allSatisfy { sequence(of: peer) >= $0.sequence && covers($0.sequence, of: peer) }
        }
    }
}
