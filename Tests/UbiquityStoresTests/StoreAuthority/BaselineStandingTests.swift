import StoreAuthority
import StoreFormat
import Testing
import UbiquityContainers
import UbiquityTesting

/// Which baselines are joined, and what an authority keeps.
struct BaselineStandingTests {
    private let made = StatementFixture()

    @Test(
        "P-14: only the steward's baselines count in the roles' domain, only those of an account's devices in its slice, and none without a warrant")
    func authorities() {
        let baseline = made.baseline(by: "b1")
        let (roles, slice) = (Domain.roles, Domain.slice(made.ann.account))
        let forged = [
            made.warrant(of: baseline, in: roles, under: made.first.id, by: "b1"),
            made.warrant(of: baseline, in: slice, under: made.ann.id, certificate: made.bob.id, by: "b1"),
            made.warrant(of: baseline, in: slice, under: made.ann.id, certificate: made.ann.id, by: "b1"),
            made.warrant(of: baseline, in: slice, under: made.ann.id, by: "o1"),
        ]
        let authority = made.authority()
        for warrant in forged { #expect(authority.standing(of: warrant) == .refused(.authority)) }
        #expect(authority.standing(of: baseline, in: roles) == .refused(.authority))
        #expect(authority.standing(of: made.baseline(by: "o1"), in: roles) == .refused(.unwarranted))

        let (steward, own) = (made.baseline(by: "o1"), made.baseline(by: "a2"))
        _ = made.warrant(of: steward, in: roles, under: made.first.id, by: "o1")
        _ = made.warrant(of: own, in: slice, under: made.ann.id, certificate: made.ann.id, by: "a2")
        #expect(made.authority().standing(of: steward, in: roles) == .counts)
        #expect(made.authority().standing(of: own, in: slice) == .counts)
        #expect(made.authority().standing(of: own, in: roles) == .refused(.unwarranted), "a warrant is for one domain")
    }

    @Test("P-14: a baseline from before the last removal joins nothing; the base that the statement names counts, by any author")
    func outdated() {
        let bases = [made.baseline(by: "o1"), made.baseline(by: "a1")]
        let (old, own) = (made.baseline(by: "o1"), made.baseline(by: "a2"))
        let slice = Domain.slice(made.ann.account)
        _ = made.warrant(of: old, in: .roles, under: made.first.id, by: "o1")
        _ = made.warrant(of: own, in: slice, under: made.ann.id, certificate: made.ann.id, by: "a2")
        let added = made.policy(after: made.first) { $0.limits.logs = 7 }
        #expect(made.authority().standing(of: old, in: .roles) == .counts, "\(added) removes nobody")
        let policy = made.policy(after: added) { $0.base = bases[0] }
        let statement = made.statement(after: made.ann, ["a1"], base: bases[1], by: "ann")
        let new = made.baseline(by: "o1")
        _ = made.warrant(of: new, in: .roles, under: policy.id, by: "o1")
        let removed = made.baseline(by: "a2")
        _ = made.warrant(of: removed, in: slice, under: statement.id, certificate: made.ann.id, by: "a2")
        var authority = made.authority()
        #expect(authority.standing(of: new, in: .roles) == .waits(for: [.policy]))
        #expect(authority.standing(of: removed, in: slice) == .waits(for: [.base(bases[1])]))
        _ = authority.insert([], baselines: bases)
        #expect(authority.standing(of: old, in: .roles) == .refused(.outdated))
        #expect(authority.standing(of: new, in: .roles) == .counts)
        #expect(authority.standing(of: own, in: slice) == .refused(.outdated))
        #expect(authority.standing(of: removed, in: slice) == .refused(.authority))
        #expect(authority.standing(of: bases[0], in: .roles) == .counts)
        #expect(authority.standing(of: bases[1], in: slice) == .counts)
        #expect(authority.standing(of: bases[1], in: .roles) == .refused(.unwarranted))
    }

    @Test("what is saved comes back whole; damaged bytes are refused")
    func saved() throws {
        let base = made.baseline(by: "a1")
        let statement = made.statement(after: made.ann, ["a1"], base: base, by: "ann")
        let own = made.baseline(by: "a1")
        _ = made.warrant(of: own, in: .slice(made.ann.account), under: statement.id, certificate: statement.id, by: "a1")
        _ = made.enrolment(of: "a3", by: "a1", certificate: statement.id, under: statement)
        _ = made.sign(Admittance(account: made.bob.account, policy: made.first.id), by: "registrar")
        _ = made.policy(after: made.first)
        _ = made.policy(after: made.first) { $0.limits.logs = 7 }
        let authority = made.authority(baselines: [base])
        #expect(authority.isForked)
        let bytes = authority.saved
        let copy = try #require(Authority(saved: bytes))
        #expect(copy.saved == bytes && copy.policy == authority.policy && copy.isForked && copy.baselines == [base])
        #expect(
            copy.statement(of: made.ann.account) == statement
                && copy.devices(of: made.ann.account).map(\.key).sorted() == ["a1", "a3"].map(StatementFixture.key).sorted())
        #expect(copy.standing(of: own, in: .slice(made.ann.account)) == .counts)
        #expect(Authority(saved: []) == nil)
        for count in [1, bytes.count / 2, bytes.count - 1] { #expect(Authority(saved: Array(bytes.prefix(count))) == nil) }
    }

    @Test("P-09: statements and baselines in any order come to one authority", arguments: 1...40)
    func orders(seed: UInt64) {
        let bases = [made.baseline(by: "o1"), made.baseline(by: "a1"), made.baseline(by: "a2")]
        let two = [1, 2].map { made.statement(after: made.ann, ["a\($0)"], base: bases[$0], by: "ann") }
        _ = made.enrolment(of: "b2", by: "b1", certificate: made.bob.id, under: made.bob)
        let removal = made.policy(after: made.first) { policy in
            policy.roles["editor"] = [policy.owner]
            policy.cuts = [.init(account: made.ann.account, before: 2)]
            policy.base = bases[0]
        }
        let grant = made.policy(after: removal) { policy in
            policy.roles["editor"]?.insert(made.bob.account)
            policy.pins[made.bob.account] = made.bob.id
        }
        let whole = made.authority(baselines: bases)
        #expect(whole.policy == grant)
        var random = SeededRandom(seed: seed)
        var authority = Authority(container: made.container)
        var (kept, last): ([[UInt8]: [UInt8]], Authority?) = ([:], nil)
        enum Arrival { case statement(Statement), baseline(BaselineID) }
        for arrival in (made.all.map(Arrival.statement) + bases.map(Arrival.baseline)).shuffled(using: &random) {
            switch arrival {
            case .statement(let statement): _ = authority.insert([statement])
            case .baseline(let baseline): _ = authority.insert([], baselines: [baseline])
            }
            // What is kept at any moment, of changes alone, goes on as if nothing had happened.
            guard random.next() % 4 == 0 else { continue }
            let change = authority.change(since: last)
            for key in change.removed { #expect(kept.removeValue(forKey: key) != nil) }
            for entry in change.added { #expect(kept.updateValue(entry.bytes, forKey: entry.key) == nil) }
            authority = Authority(saved: kept.values.flatMap(\.self))!
            last = authority
        }
        #expect(authority.saved == whole.saved, "\(two)")
    }
}
