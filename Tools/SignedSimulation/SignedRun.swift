import StoreAuthority
import StoreFormat
import UbiquityTesting

/// What a run came to.
package struct SignedOutcome: Sendable {
    /// What happened in one or several runs.
    package struct Statistics: Sendable {
        package var logs = 0, trimmed = 0, putBack = 0, rebuilds = 0, policies = 0, forks = 0, merges = 0, thefts = 0

        package init() {}

        package mutating func add(_ other: Statistics) {
            logs += other.logs
            trimmed += other.trimmed
            putBack += other.putBack
            rebuilds += other.rebuilds
            policies += other.policies
            forks += other.forks
            merges += other.merges
            thefts += other.thefts
        }
    }

    /// What went wrong; nil if nothing did.
    package var failure: String?
    package var statistics = Statistics()
}

/// A run of a signed container: accounts with several devices, role holders who turn, stolen devices, a stolen steward,
/// and readers that get the files in any order.
package struct SignedRun {
    package let seed: UInt64
    package let rule: SignedRule?

    /// Makes a run; with a rule, the run is without it.
    package init(seed: UInt64, without rule: SignedRule? = nil) { (self.seed, self.rule) = (seed, rule) }

    /// Runs to the end or to the first failure.
    ///
    /// - Parameters:
    ///   - steps: the number of steps.
    ///   - trace: receives what happens, a line each.
    /// - Returns: the outcome.
    package func outcome(steps: Int = 90, trace: ((String) -> Void)? = nil) -> SignedOutcome {
        let world = SignedWorld(seed: seed, without: rule, trace: trace)
        let failure = world.run(steps: steps)
        var statistics = world.statistics
        statistics.rebuilds = world.allReaders.map(\.rebuilds).reduce(0, +)
        return SignedOutcome(failure: failure, statistics: statistics)
    }
}

extension SignedWorld {
    fileprivate func run(steps: Int) -> String? {
        for step in 1...steps {
            trace?("step \(step)")
            act()
            for reader in honestReaders where reader.authority.policy != nil && happens(0.12) {
                if let failure = check(reader) { return "step \(step): \(failure)" }
            }
        }
        finish()
        let late = SimulatedReader(self, device: nil)
        for file in files.shuffled(using: &random) {
            late.deliver(file)
            if happens(0.1) { late.settle() }
        }
        late.settle()
        return checkEnd(honestReaders + [late])
    }

    private func act() {
        let reader = pick(allReaders)
        switch Double.random(in: 0..<1, using: &random) {
        case ..<0.30: write(reader)
        case ..<0.60:
            let news = files.filter { !reader.has.contains($0.number) }.shuffled(using: &random)
            for file in news.prefix(number(1...6)) { reader.deliver(file) }
            reader.settle()
        case ..<0.606: refill()
        case ..<0.72: attack()
        case ..<0.79: snapshot(happens(0.4) ? readers[steward.number]! : reader)
        case ..<0.84: trim()
        case ..<0.89: changeRoles()
        case ..<0.915: turn()
        case ..<0.935: signDevices(of: number(Self.holders))
        case ..<0.965: decide()
        case ..<0.971: fork()
        case ..<0.984: addDevice(to: number(Self.holders))
        case ..<0.986: loseDevice()
        case ..<0.99: admit()
        case ..<0.994: stealSteward()
        default: if happens(0.5) { recover() }
        }
    }

    /// A device's store is lost, the steward's more often, and filled again from the container.
    private func refill() {
        let device = happens(0.5) ? steward! : pick(devices)
        guard let reader = readers[device.number], !isIdle(reader) else { return }
        let new = SimulatedReader(self, device: device)
        readers[device.number] = new
        trace?("the store of \(device.name) is filled again")
        deliverAll(to: new)
    }

    /// A device is stolen, or an account with a role turns.
    private func turn() {
        let account = number(Self.holders)
        let own = members[account].filter { !evil.contains($0.number) && !dead.contains($0.number) && !hasThiefsPolicy($0) }
        guard own.count > 1 || account == 2, !own.isEmpty else { return }
        let stolen = pick(own)
        evil.insert(stolen.number)
        trace?("\(stolen.name) is stolen")
    }

    /// Whether a device may have removed logs that only a baseline of the steward's thief holds.
    ///
    /// It puts them back when it reads the policy that ends the theft; were the device stolen before, nobody could.
    private func hasThiefsPolicy(_ device: SimulatedDevice) -> Bool {
        theft != nil && readers[device.number]!.authority.policy?.value.steward == theft?.key
    }

    private func finish() {
        for _ in 0..<3 {
            for reader in allReaders { deliverAll(to: reader) }
            recover()
            decide()
        }
        for _ in 0..<2 { for reader in allReaders { deliverAll(to: reader) } }
    }

    private func check(_ reader: SimulatedReader) -> String? {
        let (shown, meant) = (reader.shown, reader.meant)
        return shown == meant ? nil : "\(name(reader)) shows what its files do not mean: \(shown.difference(from: meant))"
    }

    private func checkEnd(_ readers: [SimulatedReader]) -> String? {
        let first = readers[0]
        for reader in readers {
            if let failure = check(reader) { return "end: \(failure)" }
            if reader.authority.policy != first.authority.policy { return "end: \(name(reader)) and \(name(first)) have different policies" }
            if reader.shown != first.shown {
                trace?(reader.report)
                trace?(first.report)
                return "end: \(name(reader)) and \(name(first)) differ: \(reader.shown.difference(from: first.shown))"
            }
        }
        if first.authority.isForked { return "end: a fork is not merged" }
        if let failure = checkRemovals(first.authority) ?? checkHeld(first.authority) { return "end: \(failure)" }
        let meant = meaningOfAll(first.authority)
        if first.shown != meant { return "end: not what all logs mean: \(first.shown.difference(from: meant))" }
        return !requires(.clocksByDomain) && exhausted > 0 ? "end: \(exhausted) honest saves found no time left" : nil
    }

    /// A removal that the owner's steward has signed holds for ever.
    private func checkRemovals(_ authority: Authority) -> String? {
        let cuts = authority.policy?.value.cuts ?? []
        for policy in meant.compactMap({ policies[$0]?.value }) {
            for cut in policy.cuts {
                let isKept = cuts.contains { $0.account == cut.account && $0.before >= cut.before && $0.sparing.isSubset(of: cut.sparing) }
                if !isKept { return "policy \(policy.version) removed account \(number(of: cut.account) ?? -1), which nobody knows any more" }
            }
        }
        return nil
    }

    /// A removal reaches back only to what no baseline of the steward holds.
    private func checkHeld(_ authority: Authority) -> String? {
        guard let base = authority.base(of: .roles).flatMap({ baselines[$0] }) else { return nil }
        let held = baselines.values.filter { $0.domain == .roles }.reduce(into: [Int: UInt64]()) { $0.merge($1.effects) { $0 | $1 } }
        let now = effects(of: heldByRoles, in: .roles, authority)
        for number in heldByRoles where !base.logs.contains(number) && (held[number] ?? 0) & ~(now[number] ?? 0) != 0 {
            let policy = authority.policy!.value.version
            return "a baseline of the steward held log \(number) of \(logs[number]!.device.name), which the base of policy \(policy) lacks"
        }
        return nil
    }

    private func name(_ reader: SimulatedReader) -> String { reader.device?.name ?? "a reader" }
}
