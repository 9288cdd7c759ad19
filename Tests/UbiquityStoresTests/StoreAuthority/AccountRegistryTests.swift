import StoreAuthority
import StoreFormat
import Testing
import UbiquityContainers

/// Enrolments by the identity key, the limit of logs, and what a steward owes.
struct AccountRegistryTests {
    private let made = StatementFixture()

    @Test("the account's identity key enrols a device, under a statement of the account; nobody else does so without a sponsor")
    func identityEnrols() {
        let enrolment = made.enrolment(of: "x1", under: made.ann, by: "ann")
        let forged = made.enrolment(of: "x2", under: made.ann, by: "a1")
        let foreign = made.enrolment(of: "x3", under: made.ann, by: "bob")
        let authority = made.authority()
        #expect(authority.judgement(of: enrolment.id) == .accepted)
        #expect(authority.refusal(of: "score", owner: made.ann.account, made.first, by: "x1", enrolment.id) == nil)
        for other in [forged, foreign] { #expect(authority.judgement(of: other.id) == .refused(.signer)) }
        #expect(authority.withEnrolled([StatementFixture.peer("a1")], of: made.ann.account) == [StatementFixture.peer("a1")])
    }

    @Test("P-17: a log with a number above the limit of the policy that it names is rejected, whatever the later limit is")
    func limitOfLogs() {
        let second = made.policy(after: made.first) { $0.limits.logs = 7 }
        let third = made.policy(after: second) { $0.limits.logs = 100 }
        let authority = made.authority()
        for (policy, last) in [(second, 7), (third, 100)] {
            let rights = made.rights(policy, made.bob.id)
            for (sequence, isRejected) in [(Int64(last), false), (Int64(last) + 1, true)] {
                let verdict = authority.verdict(on: rights, by: StatementFixture.peer("b1"), sequence: sequence, isCurated: false)
                #expect((verdict == .rejected(.limit)) == isRejected, "\(last) \(sequence)")
            }
        }
    }

    @Test("the steward owes a policy when an account that holds a role has a new statement in effect, and nothing else makes it owe one")
    func owed() throws {
        #expect(!made.authority().owesPolicy)
        let stranger = made.statement(after: made.bob, ["b2"], base: made.baseline(by: "b1"), by: "bob")
        #expect(!made.authority(baselines: [stranger.value.base!]).owesPolicy)
        let base = made.baseline(by: "a1")
        _ = made.statement(after: made.ann, ["a1"], base: base, by: "ann")
        #expect(!made.authority().owesPolicy)
        let authority = made.authority(baselines: [base])
        #expect(authority.owesPolicy)
        let draft = try #require(authority.nextPolicy())
        #expect(draft.removed == [made.ann.account] && draft.needsBase)
        _ = made.policy(after: made.first) { $0.limits.records = 1 }
        _ = made.policy(after: made.first) { $0.limits.records = 2 }
        #expect(made.authority(baselines: [base]).isForked && !made.authority(baselines: [base]).owesPolicy)
    }

    @Test("a removed account's new statements make the steward owe nothing")
    func removedOwesNothing() {
        let base = made.baseline(by: "o1")
        let removal = made.policy(after: made.first) { policy in
            policy.roles["editor"]?.remove(made.ann.account)
            policy.cuts = [.init(account: made.ann.account, before: 2, sparing: [])]
            policy.base = base
        }
        let slice = made.baseline(by: "a1")
        _ = made.statement(after: made.ann, ["a1"], base: slice, by: "ann")
        let authority = made.authority(baselines: [base, slice])
        #expect(authority.policy?.id == removal.id && authority.statement(of: made.ann.account)?.value.version == 2)
        #expect(!authority.owesPolicy)
    }

    @Test("the removal of a thief's device does not remove devices whose names the thief has enrolled keys of its own under")
    func thiefEnrolsNames() {
        let slice = made.baseline(by: "a1")
        _ = made.statement(after: made.ann, ["a1", "a2", "a3"], base: slice, by: "ann")
        // Under the first statement, which does not name a3 yet.
        let forged = made.enrolment(of: "a3", by: "a2", certificate: made.ann.id, under: made.ann, key: "thief")
        let own = made.enrolment(of: "a4", by: "a2", certificate: made.ann.id, under: made.ann)
        let authority = made.authority(baselines: [slice])
        for enrolment in [forged, own] { #expect(authority.judgement(of: enrolment.id) == .accepted) }
        let removed = authority.withEnrolled([StatementFixture.peer("a2")], of: made.ann.account)
        #expect(removed == [StatementFixture.peer("a2"), StatementFixture.peer("a4")])
    }

    @Test("an account that loses its admission is emptied, and built again from its base and logs once it has it back, when the base is there")
    func readmission() throws {
        let base = made.baseline(by: "b1")
        let statement = made.statement(after: made.bob, ["b1"], base: base, by: "bob")
        var authority = made.authority(baselines: [base])
        let closed = made.policy(after: made.first) { $0.admission = .registrars([StatementFixture.key("registrar")]) }
        let slice = Domain.slice(made.bob.account)
        #expect(authority.insert([.policy(closed)]).rebuilds.contains(.init(domain: slice, base: nil)))
        #expect(authority.verdict(closed, by: "b1", statement.id, isCurated: false) == .waits(for: [.admittance(made.bob.account)]))
        authority = try #require(Authority(saved: authority.saved))
        let admittance = made.sign(Admittance(account: made.bob.account, policy: closed.id), by: "registrar")
        #expect(authority.insert([.admittance(admittance)]).rebuilds.isEmpty)
        #expect(authority.awaitedBases == [base])
        #expect(authority.verdict(closed, by: "b1", statement.id, isCurated: false) == .waits(for: [.base(base)]))
        #expect(authority.standing(of: base, in: slice) == .waits(for: [.base(base)]))
        authority = try #require(Authority(saved: authority.saved))
        #expect(authority.insert([], baselines: [base]).rebuilds == [.init(domain: slice, base: base)])
        #expect(authority.refusal(of: "score", owner: made.bob.account, closed, by: "b1", statement.id) == nil)
        #expect(authority.awaitedBases.isEmpty)
        let opened = made.policy(after: closed) { $0.admission = .open }
        #expect(authority.insert([.policy(opened)]).rebuilds.filter { $0.domain == slice }.isEmpty)
    }
}
