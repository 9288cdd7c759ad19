import StoreAuthority
import StoreFormat
import Testing
import UbiquityContainers

/// Which policy and which statement of an account is in effect.
struct PolicyHistoryTests {
    private let made = StatementFixture()

    @Test("the first policy is the one that the container is named after, signed by its steward or the owner's identity key")
    func first() {
        #expect(made.authority().policy == made.first)
        let other = made.sign(made.first.value, by: "o1")
        #expect(made.authority().judgement(of: other.id) == .refused(.succession))
        for (signer, judgement) in [("o1", Judgement.accepted), ("owner", .accepted), ("ann", .refused(.signer))] {
            let signed = Signed(id: made.first.id, signer: StatementFixture.key(signer), value: made.first.value)
            var authority = Authority(container: made.container)
            _ = authority.insert(made.all.filter { $0.id != made.first.id } + [.policy(signed)])
            #expect(authority.judgement(of: signed.id) == judgement)
        }
    }

    @Test("a policy is signed by its predecessor's steward, keeps the steward, and says what remains where it takes something away")
    func succession() {
        let judgements: [(Signed<Policy>, Judgement)] = [
            (made.policy(after: made.first), .accepted),
            (made.policy(after: made.first, by: "o2"), .refused(.signer)),
            (made.policy(after: made.first, by: "owner"), .refused(.signer)),
            (made.policy(after: made.first) { $0.version = 4 }, .refused(.succession)),
            (made.policy(after: made.first) { $0.steward = StatementFixture.key("o2") }, .refused(.altersSteward)),
            (made.policy(after: made.first) { $0.heirs = [] }, .refused(.altersSteward)),
            (made.policy(after: made.first) { $0.access["template"] = .creator("owner") }, .refused(.altersAccess("template"))),
            (made.policy(after: made.first) { $0.access["score"] = nil }, .refused(.altersAccess("score"))),
            (made.policy(after: made.first) { $0.access["template"] = .role("moderator") }, .accepted),
            (made.policy(after: made.first) { $0.cuts = [.init(account: made.ann.account, before: 2)] }, .refused(.lacksBase)),
        ]
        let authority = made.authority()
        for (policy, judgement) in judgements { #expect(authority.judgement(of: policy.id) == judgement) }
        let refused = judgements[1].0
        let next = made.policy(after: refused)
        #expect(made.authority().judgement(of: next.id) == .refused(.names(refused.id)))
    }

    @Test("a statement with a base is in effect once its base is here, and stays so when the base is gone")
    func bases() throws {
        let (base, slice) = (made.baseline(by: "o1"), made.baseline(by: "a1"))
        let policy = made.policy(after: made.first) { $0.base = base }
        let later = made.policy(after: policy) { $0.limits.logs = 7 }
        let statement = made.statement(after: made.ann, ["a1"], base: slice, by: "ann")
        var authority = made.authority()
        #expect(authority.policy == made.first && authority.statement(of: made.ann.account) == made.ann)
        #expect(authority.verdict(later, by: "o1", made.owner.id) == .waits(for: [.base(base)]))
        #expect(authority.verdict(made.first, by: "a1", statement.id, isCurated: false) == .waits(for: [.base(slice)]))
        #expect(authority.insert([], baselines: [slice]).rebuilds == [.init(domain: .slice(made.ann.account), base: slice)])
        let enactment = authority.insert([], baselines: [base])
        #expect(enactment.policy == later.id && enactment.rebuilds == [.init(domain: .roles, base: base)])
        authority.remove(base)
        authority.remove(slice)
        let last = made.policy(after: later) { $0.limits.logs = 8 }
        #expect(authority.insert([.policy(last)]).policy == last.id)
        #expect(authority.policy == last && authority.statement(of: made.ann.account) == statement)
        let saved = try #require(Authority(saved: authority.saved))
        #expect(saved.policy == last && saved.statement(of: made.ann.account) == statement && saved.saved == authority.saved)
    }

    @Test("an account's statement is signed by the identity key of its first; of two of one version the greater hash holds, for all readers")
    func identity() {
        let bases = [made.baseline(by: "a1"), made.baseline(by: "a2")]
        let forged = made.statement(after: made.ann, ["thief"], base: bases[0], by: "a1")
        let bare = made.statement(after: made.ann, ["a1"], base: nil, by: "ann")
        let two = [("a1", bases[0]), ("a2", bases[1])].map { made.statement(after: made.ann, [$0.0], base: $0.1, by: "ann") }
        let greater = two[0].id < two[1].id ? two[1] : two[0]
        for statements in [made.all, made.all.reversed()] {
            var authority = Authority(container: made.container)
            for statement in statements { _ = authority.insert([statement], baselines: bases) }
            #expect(authority.statement(of: made.ann.account) == greater)
            #expect(authority.judgement(of: forged.id) == .refused(.signer))
            #expect(authority.judgement(of: bare.id) == .refused(.lacksBase))
        }
    }

    @Test("P-24: two policies of one number pause the roles' domain of all readers, until the steward has merged them; then all agree")
    func fork() throws {
        let one = made.policy(after: made.first) {
            $0.roles["editor"]?.insert(made.bob.account); $0.pins[made.bob.account] = made.bob.id
        }
        let other = made.policy(after: made.first) { $0.roles["moderator"]?.insert(made.ann.account) }
        var readers = [[one, other], [other, one]].map { order in
            var reader = Authority(container: made.container)
            _ = reader.insert(made.all.filter { $0.id != one.id && $0.id != other.id })
            for policy in order { _ = reader.insert([.policy(policy)]) }
            return reader
        }
        readers.append(made.authority())
        #expect(readers.map { $0.policy?.id } == [one.id, other.id, made.first.id], "no policy takes the place of another")
        for reader in readers {
            #expect(reader.isForked && Set(reader.branches) == [one, other])
            #expect(reader.verdict(made.first, by: "a1", made.ann.id) == .waits(for: [.merge]))
            #expect(reader.refusal(of: "score", owner: made.ann.account, one, by: "a1", made.ann.id) == nil)
        }
        let draft = try #require(readers[0].nextPolicy())
        #expect(draft.needsBase && draft.removed == [made.ann.account, made.bob.account])
        #expect(draft.policy.roles == made.first.value.roles, "what both allow")
        let base = made.baseline(by: "o1")
        let merged = made.policy(after: draft.policy.predecessor == one.id ? one : other) { policy in
            policy = draft.policy
            policy.base = base
        }
        #expect(merged.value.merges.count == 1)
        for index in readers.indices {
            let enactment = readers[index].insert([.policy(merged)], baselines: [base])
            #expect(enactment.rebuilds == [.init(domain: .roles, base: base)])
            #expect(readers[index].policy == merged && !readers[index].isForked)
            #expect(readers[index].refusal(of: "template", one, by: "b1", made.bob.id) == .cut)
            #expect(readers[index].refusal(of: "template", merged, by: "a1", made.ann.id) == nil)
        }
    }

    @Test("a policy of the owner's identity key or an heir's begins a term, which overrules what the steward signs; logs that name that are rejected")
    func terms() throws {
        for signer in ["owner", "heir"] {
            let made = StatementFixture()
            let honest = made.policy(after: made.first) { $0.limits.logs = 7 }
            let stolen = made.policy(after: honest) {
                $0.roles["editor"]?.insert(made.bob.account); $0.pins[made.bob.account] = made.bob.id
            }
            let rival = made.policy(after: honest) { $0.limits.logs = 9 }
            var authority = made.authority()
            #expect(authority.isForked)
            let device = (key: StatementFixture.key("o2"), peer: StatementFixture.peer("o2"))
            let draft = try #require(authority.nextTerm(steward: device, after: [honest.id]))
            #expect(draft.policy.term == 1 && draft.needsBase)
            let base = made.baseline(by: "o2")
            let term = made.policy(after: honest) { policy in
                policy = draft.policy
                policy.base = base
            }
            #expect(made.authority(baselines: [base]).judgement(of: term.id) == .refused(.signer), "the steward begins no term")
            let signed = made.sign(term.value, by: signer)
            let enactment = authority.insert([.policy(signed)], baselines: [base])
            #expect(enactment.rebuilds == [.init(domain: .roles, base: base)] && authority.policy == signed && !authority.isForked)
            for void in [stolen, rival] {
                #expect(authority.refusal(of: "template", void, by: "a1", made.ann.id) == .void)
                #expect(authority.refusal(of: "score", owner: made.ann.account, void, by: "a1", made.ann.id) == nil)
            }
            #expect(authority.refusal(of: "template", honest, by: "a1", made.ann.id) == nil)
            let late = made.policy(after: stolen)
            let next = made.policy(after: signed, by: "o2") { $0.limits.logs = 11 }
            _ = authority.insert([.policy(late), .policy(next)])
            #expect(authority.policy == next && !authority.isForked, "\(late) comes too late")
        }
    }

    @Test("a steward that has nothing to decide signs nothing, and a draft drops the cuts that another one implies")
    func drafts() throws {
        #expect(made.authority().nextPolicy() == nil)
        let bases = [made.baseline(by: "o1"), made.baseline(by: "o1")]
        var last = made.first!
        for base in bases {
            let draft = try #require(
                made.authority(baselines: bases).nextPolicy { policy in
                    if policy.roles["editor"]?.remove(made.ann.account) == nil { policy.roles["editor"]?.insert(made.ann.account) }
                })
            guard draft.needsBase else { break }
            last = made.policy(after: last) { policy in
                policy = draft.policy
                policy.base = base
            }
            last = made.policy(after: last) { $0.roles["editor"]?.insert(made.ann.account) }
        }
        #expect(last.value.version == 5)
        #expect(last.value.cuts == [.init(account: made.ann.account, before: 4)])
    }
}
