// Plain values name everybody, so that the arbiter neither knows nor cares whether it shares a process with them.

/// A process that coordinates files.
package struct ClientID: Hashable, Sendable, CustomStringConvertible {
    /// A number that the client draws at random when it begins, and keeps for as long as it lives, whatever becomes of brokers.
    package let number: UInt64

    package init(_ number: UInt64) {
        self.number = number
    }

    package var description: String { "client \(number)" }
}

/// A claim, numbered by the client that makes it.
package struct ClaimID: Hashable, Sendable, CustomStringConvertible {
    package let client: ClientID
    package let number: UInt64

    package init(_ client: ClientID, _ number: UInt64) {
        self.client = client
        self.number = number
    }

    package var description: String { "claim \(client.number).\(number)" }
}

/// A presenter, numbered by the client that registers it.
package struct PresenterID: Hashable, Sendable, CustomStringConvertible {
    package let client: ClientID
    package let number: UInt64

    package init(_ client: ClientID, _ number: UInt64) {
        self.client = client
        self.number = number
    }

    package var description: String { "presenter \(client.number).\(number)" }
}

/// A message to a presenter, numbered by the arbiter.
package struct MessageID: Hashable, Sendable, CustomStringConvertible {
    package let number: UInt64

    package init(_ number: UInt64) {
        self.number = number
    }

    package var description: String { "message \(number)" }
}

/// On whose behalf a claim is made: claims of one purpose never block each other (C-09).
package enum Purpose: Hashable, Sendable, CustomStringConvertible {
    /// The purpose of a coordinator that nobody gave another: its own, shared with no other coordinator.
    case coordinator(ClientID, UInt64)
    /// The purpose of every coordinator made for this presenter.
    case presenter(PresenterID)
    /// A purpose that the app named; it joins coordinators across processes.
    case named(String)
    /// The purpose of the claim that stands for what a client was delegated; it is in the way of all others, and not of that client.
    case delegation(ClientID)

    package var description: String {
        switch self {
        case .coordinator(let client, let number): "coordinator.\(client.number).\(number)"
        case .presenter(let id): "presenter.\(id.client.number).\(id.number)"
        case .named(let name): name
        case .delegation(let client): "delegation.\(client.number)"
        }
    }
}
