import SystemPackage
import Testing

@testable import FileCoordination

/// Who may pass whom, and which waits are reported as deadlocks, as the arbiter decides it.
@Suite struct WaitGraphTests {
    @Test("C-51: a nested access of the same purpose is granted at once, even when others wait for the outer one")
    func nestedSamePurpose() {
        var script = ArbiterScript()
        let outer = script.read("/f", as: "p")
        let stranger = script.write("/f")
        let nested = script.write("/f", as: "p", within: [.claim(outer)])
        #expect(script.isGranted(nested) && script.isWaiting(stranger))
        script.end(nested)
        #expect(script.isWaiting(stranger))
        script.end(outer)
        #expect(script.isGranted(stranger))
    }

    @Test("C-51: a nested access passes those who wait for the outer one by way of others")
    func nestedPassesChain() {
        var script = ArbiterScript()
        let outer = script.write("/a", as: "p")
        let first = script.claim([ClaimItem("/a", .write([])), ClaimItem("/b", .write([]))])
        let second = script.claim([ClaimItem("/b", .write([])), ClaimItem("/c", .write([]))])
        let nested = script.write("/c", as: "p", within: [.claim(outer)])
        #expect(script.isGranted(nested))
        #expect(script.isWaiting(first) && script.isWaiting(second))
        script.end(nested)
        script.end(outer)
        script.end(first)
        #expect(script.isGranted(second))
    }

    @Test("C-51: a nested access passes those who wait for the outer one, whoever else they wait for")
    func nestedInOneOfTwo() {
        var script = ArbiterScript()
        let presenter = script.present("/a")
        let stranger = script.write("/a", .forDeleting)
        let question = script.pending(of: presenter)[0].id
        let outer = ["/a/b", "/a/c"].map { script.write(FilePath($0), for: presenter, within: [.message(question)]) }
        script.handleAll(presenter)
        #expect(outer.allSatisfy { script.isGranted($0) } && script.isWaiting(stranger))
        for (index, claim) in outer.enumerated() {
            let nested = script.write(FilePath("/a/d\(index)"), for: presenter, within: [.claim(claim)])
            #expect(script.isGranted(nested), "in \(index)")
        }
    }

    @Test("C-50: two presenters that were passed over while they handled messages, and now wait for each other, are told so")
    func passedOverPresenters() {
        var script = ArbiterScript()
        let other = ClientID(2)
        script.send(.clientJoined(other, process: 12, name: "two"))
        let (left, right) = (script.present("/left", by: other), script.present("/right", by: other))
        let reader = script.claim([ClaimItem("/left", .read([])), ClaimItem("/right", .read([]))])
        let (leftQuestion, rightQuestion) = (script.pending(of: left)[0].id, script.pending(of: right)[0].id)
        script.send(.passedOver(other))
        #expect(script.isGranted(reader))
        script.end(reader)
        script.send(.resumed(other))

        // Both are still at their first message.
        let first = script.write("/right", for: left, within: [.message(leftQuestion)], by: other)
        #expect(script.isWaiting(first))
        let second = script.write("/left", for: right, within: [.message(rightQuestion)], by: other)
        guard case .cycle = script.failures[second] else {
            Issue.record("no deadlock was reported")
            return
        }
        script.handleAll(right)
        #expect(script.isGranted(first))
    }

    @Test("C-51: a nested access through a different coordinator would wait for itself, and fails")
    func nestedDifferent() {
        var script = ArbiterScript()
        let outer = script.write("/f")
        let nested = script.write("/f", within: [.claim(outer)])
        guard case .cycle(let steps) = script.failures[nested] else {
            Issue.record("no deadlock was reported")
            return
        }
        #expect(steps.map(\.kind) == [.waitingClaim, .heldClaim])
        #expect(script.isGranted(outer))
    }

    @Test("C-50: two that each hold what the other asks for: the youngest fails, with the whole cycle, and the other goes on")
    func crossing() {
        var script = ArbiterScript()
        let first = script.write("/x", as: "one")
        let second = script.write("/y", as: "two")
        let firstNested = script.write("/y", as: "one", within: [.claim(first)])
        #expect(script.isWaiting(firstNested))
        let secondNested = script.write("/x", as: "two", within: [.claim(second)])
        guard case .cycle(let steps) = script.failures[secondNested] else {
            Issue.record("no deadlock was reported")
            return
        }
        #expect(steps.map(\.kind) == [.waitingClaim, .heldClaim, .waitingClaim, .heldClaim])
        #expect(steps.map(\.purpose) == ["two", "one", "one", "two"])
        #expect(steps.map(\.paths) == [["/x"], ["/x"], ["/y"], ["/y"]])
        #expect(script.isWaiting(firstNested))
        script.end(second)
        #expect(script.isGranted(firstNested))
    }

    @Test("C-50: it is the youngest of the cycle that fails, not the one that closes it")
    func youngestFails() {
        var script = ArbiterScript()
        let presenter = script.present("/p")
        let earlier = script.write("/p")
        script.handleAll(presenter)
        script.end(earlier)
        let turn = script.pending(of: presenter)[0]

        let outer = script.write("/x", as: "A")
        let holder = script.write("/p", for: presenter)
        let nested = script.write("/p", as: "A", within: [.claim(outer)])
        let inTurn = script.read("/x", within: [.message(turn.id)])
        #expect(script.isWaiting(nested) && script.isWaiting(inTurn))

        script.end(holder)  // now the nested claim asks the presenter, whose turn waits for the outer claim
        guard case .cycle(let steps) = script.failures[inTurn] else {
            Issue.record("no deadlock was reported")
            return
        }
        #expect(steps.map(\.kind) == [.waitingClaim, .heldClaim, .waitingClaim, .presenter, .presenter, .presenter])
        #expect(script.isWaiting(nested))
        script.handleAll(presenter)
        #expect(script.isGranted(nested))
    }

    @Test("C-52: a presenter's own write in the turn of its save goes before the reader that waits for the save", arguments: [true, false])
    func savesBeforeRead(byPresenter: Bool) {
        var script = ArbiterScript()
        let presenter = script.present("/f")
        let reader = script.read("/f")
        let other = script.read("/f")
        let messages = script.pending(of: presenter)
        script.send(.handled(messages[0].id, .done))
        script.send(.handled(messages[2].id, .done))
        let save = script.write("/f", for: presenter, within: byPresenter ? [] : [.message(messages[1].id)])
        #expect(script.isGranted(save) && script.isWaiting(reader) && script.isWaiting(other))
        for message in [messages[1], messages[3]] { script.send(.handled(message.id, .done)) }
        #expect(script.isWaiting(reader), "the reader waits for the save to end, answered or not")
        script.end(save)
        #expect(script.isGranted(reader) && script.isGranted(other))
    }

    @Test("C-52: a presenter's access that is queued already goes first when a claim before it comes to wait for the presenter")
    func queuedAccessOfAskedPresenter() {
        var script = ArbiterScript()
        let presenter = script.present("/f")
        let holder = script.write("/f", for: presenter)
        let reader = script.read("/f")
        let stranger = script.write("/f", as: "x")
        let save = script.write("/f", for: presenter)
        #expect(script.isWaiting(save), "it is not nested, so it waits its turn")
        script.end(holder)  // now the reader asks the presenter
        #expect(script.isGranted(save) && script.isWaiting(reader) && script.isWaiting(stranger))
        script.end(save)
        script.handleAll(presenter)
        #expect(script.isGranted(reader))
    }

    @Test("C-32, C-50: a presenter that in its turn makes an access for which it would itself have to be asked is told so")
    func presenterAsksItself() {
        var script = ArbiterScript()
        let presenter = script.present("/f")
        let writer = script.write("/f")
        script.handleAll(presenter)
        script.end(writer)
        let didChange = script.pending(of: presenter)[0]
        let access = script.read("/f", within: [.message(didChange.id)])
        guard case .cycle(let steps) = script.failures[access] else {
            Issue.record("no deadlock was reported")
            return
        }
        #expect(steps.contains { $0.kind == .presenter && $0.activity == "presentedItemDidChange" })
    }

    @Test("C-50: waiting without nesting is never a deadlock")
    func plainWaits() {
        var script = ArbiterScript()
        var claims: [ClaimID] = []
        for _ in 0..<20 {
            claims.append(script.claim([ClaimItem("/x", .write([])), ClaimItem("/y", .read([]))]))
            claims.append(script.claim([ClaimItem("/y", .write([])), ClaimItem("/x", .read([]))]))
        }
        for claim in claims {
            #expect(script.isGranted(claim))
            script.end(claim)
        }
        #expect(script.failures.isEmpty)
    }
}
