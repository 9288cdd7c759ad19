internal import GRDB
internal import StoreFormat
internal import StoreRecords

extension StoreRequest {
    /// The answer to a missing content; nil if the task is not about that.
    var wipeAnswer: WipePolicy.Answer? {
        switch self {
        case .rebuild: nil
        case .republish, .finishRepublishing: .republish
        case .follow: .follow
        }
    }
}

extension StoreEngine {
    /// Performs the task that another program has requested.
    ///
    /// A task that cannot be done now stays. Each exchange tries it again, until it succeeds or is withdrawn. A task
    /// that can never be done is removed, and the status states the reason.
    ///
    /// - Throws: the obstacle.
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

    /// Notes a task for the next exchange, in case this exchange does not reach it.
    ///
    /// - Returns: the task that was set before.
    func postpone(_ wanted: StoreRequest) throws -> StoreRequest? {
        let former = try file.pool.write { db in
            let former = try StoreState.read(db).request
            try db.execute(sql: "UPDATE ubiquity_state SET request = ?", arguments: [wanted.rawValue])
            return former
        }
        if let former, former != wanted, former.wipeAnswer != wanted.wipeAnswer {
            log.transition("the request to \(former.rawValue) was dropped: the content was gone, and is being put back")
        }
        request = wanted
        return former
    }

    /// Restores the task that was set before.
    func put(_ former: StoreRequest?) throws {
        try file.pool.write { db in try db.execute(sql: "UPDATE ubiquity_state SET request = ?", arguments: [former?.rawValue]) }
        request = former
    }

    func drop(_ done: StoreRequest) throws {
        try file.pool.write { db in _ = try done.drop(db) }
        request = nil
    }

    /// Pauses the exchange in both directions, or resumes it.
    package func setPaused(_ paused: Bool) throws {
        guard container != nil else {
            throw UbiquitousStoreError(
                .unsupported,
                "\(file.path) has no exchange to pause: nobody is signed in, or its saves are being joined into the account's file.",
                path: file.path)
        }
        try file.pool.write { db in try db.execute(sql: "UPDATE ubiquity_state SET paused = ?", arguments: [paused]) }
        // No exchange of this process is running, because the engine does one thing at a time; one of another process
        // ends by itself.
        isPaused = paused
        if !paused { inventory = nil }
    }
}
