internal import GRDB
internal import StoreFormat
internal import StoreRecords

extension StoreRequest {
    /// What it says of content that is gone; nil where that is another matter.
    var wipeAnswer: WipePolicy.Answer? {
        switch self {
        case .rebuild: nil
        case .republish, .finishRepublishing: .republish
        case .follow: .follow
        }
    }
}

extension StoreEngine {
    /// Does what another program has asked for.
    ///
    /// One that cannot be done now stays, and is tried again with each exchange until it can, or is withdrawn; one that cannot be done at all is dropped, and the status says why.
    ///
    /// - Throws: what stands in the way.
    func fulfilRequest() throws {
        guard container != nil, !isPaused, let request else { return }
        do {
            if let answer = request.wipeAnswer { try answerWipe(answer, asked: request) } else { try rebuild() }
        } catch let error as UbiquitousStoreError where [.contentIncomplete, .unsupported].contains(error.code) {
            try drop(request)
            throw error
        }
        try drop(request)
    }

    /// Has the next exchange do what this one may not come to.
    ///
    /// - Returns: what was to be done before.
    func postpone(_ wanted: StoreRequest) throws -> StoreRequest? {
        let former = try file.pool.write { db in
            let former = try StoreState.read(db).request
            try db.execute(sql: "UPDATE ubiquity_state SET request = ?", arguments: [wanted.rawValue])
            return former
        }
        if let former, former != wanted, former.wipeAnswer != wanted.wipeAnswer {
            log.transition("to \(former.rawValue) had been asked for, and is no longer: the content was gone, and is put back")
        }
        request = wanted
        return former
    }

    /// Puts back what was to be done before.
    func put(_ former: StoreRequest?) throws {
        try file.pool.write { db in try db.execute(sql: "UPDATE ubiquity_state SET request = ?", arguments: [former?.rawValue]) }
        request = former
    }

    func drop(_ done: StoreRequest) throws {
        try file.pool.write { db in _ = try done.drop(db) }
        request = nil
    }

    /// Lets nothing go out or in from now on, or everything again.
    package func setPaused(_ paused: Bool) throws {
        guard container != nil else {
            throw UbiquitousStoreError(
                .unsupported,
                "Nothing goes out of \(file.path) that could be paused: nobody is signed in, or what it holds is on its way to the account's.",
                path: file.path)
        }
        try file.pool.write { db in try db.execute(sql: "UPDATE ubiquity_state SET paused = ?", arguments: [paused]) }
        // An exchange under way has ended, for the engine does one thing at a time; another process's ends by itself.
        isPaused = paused
        if !paused { inventory = nil }
    }
}
