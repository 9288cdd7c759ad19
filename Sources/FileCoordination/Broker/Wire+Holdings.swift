import SystemPackage

extension BrokerFrame.Delegation: Wire {
    func write(to writer: inout WireWriter) {
        writer.number(number)
        writer.put(roots)
    }
    init(from reader: inout WireReader) throws(WireError) { self.init(number: try reader.number(), roots: try reader.get()) }
}

extension Holdings.Presenter: Wire {
    func write(to writer: inout WireWriter) {
        writer.put(id)
        writer.put(path)
        writer.put(observedAttributes)
        writer.put(unhandledMoves.moves.map(\.message))
        writer.put(unhandledMoves.moves.map(\.move))
    }
    init(from reader: inout WireReader) throws(WireError) {
        id = try reader.get()
        path = try reader.get()
        observedAttributes = try reader.get()
        let messages: [MessageID] = try reader.get()
        let moves: [Move] = try reader.get()
        guard messages.count == moves.count else { throw WireError("moves and their messages do not match") }
        for (message, move) in zip(messages, moves) { unhandledMoves.add(move, toldBy: message) }
    }
}

extension Holdings.Claim: Wire {
    func write(to writer: inout WireWriter) {
        writer.put(request)
        writer.put(items)
        writer.put(isHeld)
        writer.put(moves)
        writer.put(moveNotes)
    }
    init(from reader: inout WireReader) throws(WireError) {
        request = try reader.get()
        items = try reader.get()
        isHeld = try reader.get()
        moves = try reader.get()
        moveNotes = try reader.get()
    }
}

extension Holdings.Message: Wire {
    func write(to writer: inout WireWriter) {
        writer.put(delivery)
        writer.put(isAnswered)
    }
    init(from reader: inout WireReader) throws(WireError) {
        delivery = try reader.get()
        isAnswered = try reader.get()
    }
}

extension Holdings: Wire {
    func write(to writer: inout WireWriter) {
        writer.put(presenters)
        writer.put(claims)
        writer.put(messages)
    }
    init(from reader: inout WireReader) throws(WireError) {
        presenters = try reader.get()
        claims = try reader.get()
        messages = try reader.get()
    }
}

// MARK: Listings

extension Duration {
    fileprivate var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        return UInt64(max(0, seconds)) * 1_000_000_000 + UInt64(max(0, attoseconds) / 1_000_000_000)
    }

    fileprivate init(nanoseconds: UInt64) { self = .nanoseconds(Int64(clamping: nanoseconds)) }
}

extension CoordinationSnapshot.Claim: Wire {
    func write(to writer: inout WireWriter) {
        writer.put(id)
        writer.put(process)
        writer.put(processName)
        writer.put(isStopped)
        writer.put(purpose)
        writer.put(state.rawValue)
        writer.put(isPreparation)
        writer.put(items.map(\.path))
        writer.put(items.map(\.writes))
        writer.number(age.nanoseconds)
        writer.put(waitsFor)
    }
    init(from reader: inout WireReader) throws(WireError) {
        id = try reader.get()
        process = try reader.get()
        processName = try reader.get()
        isStopped = try reader.get()
        purpose = try reader.get()
        guard let state = State(rawValue: try reader.get()) else { throw WireError("a claim in no known state") }
        self.state = state
        isPreparation = try reader.get()
        let paths: [FilePath] = try reader.get()
        let writes: [Bool] = try reader.get()
        items = zip(paths, writes).map { ($0, $1) }
        age = Duration(nanoseconds: try reader.number())
        waitsFor = try reader.get()
    }
}

extension CoordinationSnapshot.Presenter: Wire {
    func write(to writer: inout WireWriter) {
        writer.put(id)
        writer.put(process)
        writer.put(processName)
        writer.put(isStopped)
        writer.put(path)
        writer.put(unanswered)
    }
    init(from reader: inout WireReader) throws(WireError) {
        id = try reader.get()
        process = try reader.get()
        processName = try reader.get()
        isStopped = try reader.get()
        path = try reader.get()
        unanswered = try reader.get()
    }
}

extension CoordinationSnapshot.Message: Wire {
    func write(to writer: inout WireWriter) {
        writer.put(id)
        writer.put(name)
        writer.number(age.nanoseconds)
        writer.put(isAwaited)
    }
    init(from reader: inout WireReader) throws(WireError) {
        id = try reader.get()
        name = try reader.get()
        age = Duration(nanoseconds: try reader.number())
        isAwaited = try reader.get()
    }
}

extension CoordinationSnapshot: Wire {
    func write(to writer: inout WireWriter) {
        writer.put(claims)
        writer.put(presenters)
    }
    init(from reader: inout WireReader) throws(WireError) {
        claims = try reader.get()
        presenters = try reader.get()
    }
}

extension BrokerReport: Wire {
    func write(to writer: inout WireWriter) {
        writer.put(process)
        writer.put(isResident)
        writer.number(version)
        writer.number(epoch)
        writer.number(UInt64(age * 1e9))
        writer.put(clients)
        writer.put(claims)
        writer.put(presenters)
    }
    init(from reader: inout WireReader) throws(WireError) {
        process = try reader.get()
        isResident = try reader.get()
        version = try reader.number()
        epoch = try reader.number()
        age = Double(try reader.number()) / 1e9
        clients = try reader.get()
        claims = try reader.get()
        presenters = try reader.get()
    }
}

extension BrokerReport.Client: Wire {
    func write(to writer: inout WireWriter) {
        writer.put(process)
        writer.put(name)
        writer.put(isStopped)
        writer.put(delegated)
    }
    init(from reader: inout WireReader) throws(WireError) {
        process = try reader.get()
        name = try reader.get()
        isStopped = try reader.get()
        delegated = try reader.get()
    }
}
