package import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// What is known of the baselines of a content, and what follows from that.
struct BaselineShelf: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// What a baseline says of itself.
    enum Header: Sendable {
        case readable(BaselineHeader)
        /// It cannot be used as it is.
        case faulty
    }

    /// Whether the logs that a baseline holds are awaited.
    enum Patience: Equatable, Sendable {
        case until(Instant)
        case over
    }

    /// A baseline that holds what this store does not.
    struct News: Equatable, Sendable {
        var id: BaselineID
        /// How many logs it is ahead.
        var lag: Int64
        /// Why this store's schema cannot take it, and the schema of its writer; nil where it can.
        var obstacle: Obstacle?
    }

    /// Why a baseline is not joined.
    enum Obstacle: Equatable, Sendable {
        /// It is a few logs ahead, which may come by themselves.
        case fewLogs(Int64)
        case schema(obstacle: String, authors: String)
    }

    enum Decision: Equatable, Sendable {
        case join
        case passOver(Obstacle)
    }

    /// A baseline that this store has all of.
    typealias Usable = (id: BaselineID, header: BaselineHeader)

    /// So many logs are joined faster from a baseline that holds them than one by one.
    static let worthwhile: Int64 = 500
    /// How long fewer logs are awaited, which may be on their way after the baseline.
    static let grace = Duration.seconds(5)

    private(set) var headers: [BaselineID: Header] = [:]
    /// The baselines that hold nothing which this store does not.
    var contained: Set<BaselineID> = []
    /// The baselines that are whole, and hold what this store cannot.
    var refused: Set<BaselineID> = []
    /// The baselines that have been read to the end, and are whole.
    var verified: Set<BaselineID> = []
    /// The baselines that hold a little more than this store.
    private(set) var later: [BaselineID: Patience] = [:]
    /// About how many bytes the logs have that no baseline holds: what has been measured once, and what has come since.
    var looseBytes = 0
    private(set) var hasMeasuredLoose = false
    /// The last own log up to which those have been removed that a baseline holds, as far as seen since everything was listed.
    private(set) var trimmed: Int64 = 0

    // MARK: What is so

    /// A baseline has come, has changed, or has gone.
    mutating func changed(_ id: BaselineID, isThere: Bool) {
        headers[id] = nil
        refused.remove(id)
        verified.remove(id)
        if !isThere { later[id] = nil }
    }

    mutating func read(_ header: BaselineHeader, of id: BaselineID) { headers[id] = .readable(header) }

    mutating func forgetHeader(of id: BaselineID) { headers[id] = nil }

    mutating func fault(_ id: BaselineID) { headers[id] = .faulty }

    /// The store has all of a baseline.
    mutating func contain(_ id: BaselineID) {
        contained.insert(id)
        later[id] = nil
    }

    /// Everything is listed: a baseline that could not be used may be another file by now.
    mutating func relist() {
        headers = headers.filter { if case .readable = $0.value { true } else { false } }
        trimmed = 0
    }

    /// Another epoch has begun, of which there are other baselines.
    mutating func forget() {
        (headers, contained, verified, refused, later, looseBytes) = ([:], [], [], [], [:], 0)
    }

    // MARK: Joining

    /// When a baseline is joined though the logs that it holds have not come.
    var nextTime: Instant? {
        later.values.compactMap { if case .until(let time) = $0 { time } else { nil } }.min()
    }

    /// Whether logs are awaited that a baseline holds.
    var awaitsLogs: Bool { nextTime != nil }

    /// Waits no longer for the logs of other baselines than these.
    mutating func keepLater(of news: [News]) {
        let ids = Set(news.map(\.id))
        later = later.filter { ids.contains($0.key) }
    }

    /// Says whether a baseline is joined now.
    ///
    /// - Parameters:
    ///   - news: the baseline.
    ///   - isFirst: whether the logs that are here are still to be joined.
    ///   - isEager: whether nothing is waited for.
    ///   - knowsOthers: whether this store has logs of others; else it waits for none.
    ///   - now: the time.
    /// - Returns: whether it is, and why not.
    mutating func decide(_ news: News, isFirst: Bool, isEager: Bool, knowsOthers: Bool, at now: Instant) -> Decision {
        guard isFirst ? news.lag >= Self.worthwhile : isEager || isOverdue(news.id, knowsOthers: knowsOthers, at: now) else {
            return .passOver(.fewLogs(news.lag))
        }
        return news.obstacle.map { .passOver($0) } ?? .join
    }

    /// Whether the logs that a baseline holds have been awaited for long enough.
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

    /// This store has written a baseline, of all that it has.
    mutating func rolled(_ id: BaselineID) {
        contained.insert(id)
        looseBytes = 0
    }

    /// The number of this peer's next baseline.
    static func next(of peer: PeerIdentifier, among baselines: Set<BaselineID>) -> Int64 {
        (baselines.filter { $0.peer == peer }.map(\.name.sequence).max() ?? 0) + 1
    }

    /// How many logs a store has that are in no baseline of which it has all.
    static func loose(_ knowledge: Knowledge, besides usable: [Usable]) -> Int64 {
        (usable.map(\.header.knowledge) + [Knowledge()]).map { knowledge.count(beyond: $0) }.min()!
    }

    /// A baseline, and the own log up to which its removal of logs may go.
    struct Trim: Equatable {
        var id: BaselineID
        var limit: Int64
    }

    /// Says for which baselines own logs may be removed, those first that allow most.
    ///
    /// - Parameters:
    ///   - passed: the baselines of which the store has all, and up to which own log each of them has all.
    ///   - limit: the own log up to which every peer that counts has read all.
    /// - Returns: the baselines; none where nothing can be removed that has not been.
    func trims(_ passed: [(id: BaselineID, sequence: Int64)], limit: Int64) -> [Trim] {
        let trims = passed.sorted { $0.sequence > $1.sequence }.map { Trim(id: $0.id, limit: min(limit, $0.sequence)) }
        guard let greatest = trims.first?.limit, greatest > trimmed else { return [] }
        return trims
    }

    /// Own logs have been removed up to one, or were not there.
    mutating func trim(upTo sequence: Int64) { trimmed = sequence }

    /// The baselines that hold all of another, and more.
    static func greater(than one: Usable, among usable: [Usable], within all: Knowledge) -> [Usable] {
        usable.filter { $0.id != one.id && $0.header.knowledge.holds(one.header.knowledge, orIsEqual: $0.id > one.id, within: all) }
    }
}

extension Knowledge {
    /// Whether all that another names is in this, and more, as far as that is certain: of an identifier with several
    /// branches each head must be equal.
    ///
    /// - Parameters:
    ///   - other: another knowledge.
    ///   - orIsEqual: what is said of one that is equal.
    ///   - all: what holds both.
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
