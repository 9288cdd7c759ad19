import StoreAuthority
import StoreFormat
import UbiquityContainers

/// What a reader has joined of a domain.
struct JoinedDomain {
    var logs = LogSet()
    var registers = Registers()
    var clock: Int64 = 0
    /// The last joined log of each device, by its sequence, in the baselines that were joined.
    var sequences: [PeerIdentifier: Int64] = [:]
    /// The changes that count in those baselines, by the number of the log.
    var effects: [Int: UInt64] = [:]
    var isPoisoned = false
}

/// A reader, and with a device a writer: registers and knowledge, and the authority that says what counts.
///
/// It keeps no logs: a domain that shrinks is built again from its base and from what lies in the container.
final class SimulatedReader {
    let world: SignedWorld
    let device: SimulatedDevice?
    private(set) var authority: Authority
    private(set) var has = LogSet()
    private var arrivals: [Statement] = []
    private var arrivedBaselines: [BaselineID] = []
    private(set) var baselines: [SimulatedBaseline] = []
    private var pending: [SimulatedLog] = []
    private(set) var roles = JoinedDomain()
    private(set) var slices: [Int: JoinedDomain] = [:]
    private(set) var rebuilds = 0

    init(_ world: SignedWorld, device: SimulatedDevice?) {
        (self.world, self.device) = (world, device)
        authority = Authority(container: world.container, rules: world.rules)
    }

    // MARK: - Delivery

    func deliver(_ file: SimulatedFile) {
        guard !has.contains(file.number) else { return }
        has.insert(file.number)
        switch file.kind {
        case .statement(let statement):
            arrivals.append(statement)
            if !world.requires(.baseFirst) { arrivedBaselines += statement.base.map { [$0] } ?? [] }
        case .baseline(let baseline):
            arrivedBaselines.append(baseline.id)
            baselines.append(baseline)
        case .log(let log): pending.append(log)
        }
    }

    /// A log that was removed is in the container again.
    func forget(_ number: Int) { has.remove(number) }

    func settle() {
        if !arrivals.isEmpty || !arrivedBaselines.isEmpty {
            var enactment = authority.insert(arrivals, baselines: arrivedBaselines)
            (arrivals, arrivedBaselines) = ([], [])
            // What went with the admission is found again once the account is admitted.
            let awaited = authority.awaitedBases
            enactment.add(authority.insert([], baselines: baselines.map(\.id).filter(awaited.contains)))
            for rebuild in enactment.rebuilds { self.rebuild(world.domain(rebuild.domain), from: rebuild.base) }
        }
        var goesOn = true
        while goesOn {
            let joined = joinBaselines()
            goesOn = joinLogs() || joined
        }
    }

    // MARK: - Joining

    subscript(domain: SimulatedDomain) -> JoinedDomain {
        get {
            switch domain {
            case .roles: roles
            case .slice(let account): slices[account] ?? JoinedDomain()
            }
        }
        set {
            switch domain {
            case .roles: roles = newValue
            case .slice(let account): slices[account] = newValue
            }
        }
    }

    private func rebuild(_ domain: SimulatedDomain, from base: BaselineID?) {
        guard world.requires(.rebuild) else { return }
        rebuilds += 1
        self[domain] = JoinedDomain()
        if let base = baselines.first(where: { $0.id == base }) { absorb(base) }
        if let device, world.requires(.putBack) { world.putBack(logsOf: device, lackedBy: self[domain].logs) }
        // What lies in the container is read again.
        pending = world.logs(deliveredTo: self)
    }

    private func absorb(_ baseline: SimulatedBaseline) {
        var joined = self[baseline.domain]
        joined.logs.formUnion(baseline.logs)
        joined.registers.join(baseline.registers)
        joined.clock = max(joined.clock, baseline.clock)
        joined.effects.merge(baseline.effects) { $0 | $1 }
        joined.isPoisoned = joined.isPoisoned || baseline.isPoisoned
        if !world.requires(.coverByHash) {
            for number in baseline.logs {
                let log = world.logs[number]!
                joined.sequences[log.device.peer] = max(joined.sequences[log.device.peer] ?? 0, log.position.sequence)
            }
        }
        self[baseline.domain] = joined
    }

    private func joinBaselines() -> Bool {
        var joined = false
        for baseline in baselines where !baseline.logs.isSubset(of: self[baseline.domain].logs) && isUsable(baseline) {
            absorb(baseline)
            joined = true
        }
        return joined
    }

    private func isUsable(_ baseline: SimulatedBaseline) -> Bool {
        switch authority.standing(of: baseline.id, in: world.domain(baseline.domain)) {
        case .counts: true
        case .waits: false
        case .refused(.outdated): !world.requires(.freshBaselines)
        case .refused: !world.requires(.authorityBaselines) && authority.policy != nil
        }
    }

    /// The logs that a baseline holds which counts in a domain.
    func held(in domain: SimulatedDomain) -> LogSet {
        var held = LogSet()
        for baseline in baselines where baseline.domain == domain && isUsable(baseline) { held.formUnion(baseline.logs) }
        return held
    }

    /// Whether a log has been joined in a domain, or is in a baseline that has.
    private func holds(_ log: SimulatedLog, in domain: SimulatedDomain) -> Bool {
        let joined = self[domain]
        return joined.logs.contains(log.number) || joined.sequences[log.device.peer].map { log.position.sequence <= $0 } ?? false
    }

    private func joinLogs() -> Bool {
        var (joined, left): (Bool, [SimulatedLog]) = (false, [])
        for log in pending {
            switch join(log) {
            case .waits: left.append(log)
            case .joined: joined = true
            case .done: break
            }
        }
        pending = left
        return joined
    }

    private enum Outcome { case waits, joined, done }

    private func join(_ log: SimulatedLog) -> Outcome {
        let slice = SimulatedDomain.slice(log.device.account)
        let missing = [.roles, slice].filter { !holds(log, in: $0) }
        if missing.isEmpty { return .done }
        let rights = world.rights(of: log, for: authority)
        let verdict = authority.verdict(on: rights, by: log.device.peer, sequence: 1, isCurated: log.isCurated)
        if case .waits = verdict { return .waits }
        // A log that its author has not signed is no log of its author.
        guard authority.author(log.device.peer, certificate: log.rights.certificate)?.key == log.signer else { return .done }
        if let previous = log.previous, !holds(previous, in: .roles) || !holds(previous, in: slice) { return .waits }
        let allowed = world.allowedChanges(of: log, verdict, authority)
        for domain in missing {
            var joined = self[domain]
            joined.logs.insert(log.number)
            for (index, change) in log.changes.enumerated() where (change.key.owner == nil) == (domain == .roles) {
                guard allowed & 1 << UInt64(index) != 0 else { continue }
                joined.registers.join(change, of: log)
                joined.clock = max(joined.clock, change.latest)
            }
            self[domain] = joined
        }
        if !world.requires(.clocksByDomain) {
            let latest = log.changes.map(\.latest).max() ?? 0
            roles.clock = max(roles.clock, latest)
            for account in slices.keys { slices[account]!.clock = max(slices[account]!.clock, latest) }
        }
        return .joined
    }

    // MARK: - What is shown

    var shown: Shown { Shown(roles: roles.registers, slices: slices.mapValues(\.registers)) }

    /// What the logs that were joined mean, with the authority that is here.
    var meant: Shown {
        // Nobody can tell what a stolen authority's baseline should hold.
        let meaning = roles.isPoisoned ? roles.registers : world.registers(of: effects(in: .roles))
        var meanings: [Int: Registers] = [:]
        for account in slices.keys { meanings[account] = world.registers(of: effects(in: .slice(account))) }
        return Shown(roles: meaning, slices: meanings)
    }

    /// What the reader waits for, for the report on one seed.
    var report: String {
        let waiting = pending.map { log in
            let verdict = authority.verdict(on: log.rights, by: log.device.peer, sequence: 1, isCurated: log.isCurated)
            return "log \(log.number) of \(log.device.name) after \(log.previous.map { "\($0.number)" } ?? "nothing"): \(verdict)".prefix(300)
        }
        let joined = [("roles", roles)] + slices.sorted { $0.key < $1.key }.map { ("slice \($0.key)", $0.value) }
        return """
            \(device?.name ?? "a reader") has joined \(joined.map { "\($0.0): \(Array($0.1.logs))" }.joined(separator: "; ")), and keeps waiting
            \(waiting.joined(separator: "\n"))
            """
    }

    /// Returns the changes of the logs that were joined that count in a domain, by the number of the log.
    func effects(in domain: SimulatedDomain) -> [Int: UInt64] {
        world.effects(of: self[domain].logs, in: domain, authority, known: self[domain].effects)
    }
}

extension Statement {
    /// The baseline that the statement names.
    var base: BaselineID? {
        switch self {
        case .policy(let signed): signed.value.base
        case .account(let signed): signed.value.base
        case .enrolment, .admittance, .warrant: nil
        }
    }
}
