package import StoreFormat

/// What becomes of a log that no base holds.
///
/// A log that a base or baseline holds has the effect that it has there, and gets no verdict.
package enum Verdict: Hashable, Sendable {
    /// Nobody can tell yet. The log and its successors are not joined.
    case waits(for: Set<Need>)
    /// The log is joined, and none of its changes has an effect.
    case rejected(Rejection)
    /// The log is joined. Each of its changes has an effect if the grant allows it.
    case counts(Grant)
}

extension Verdict {
    /// Returns the verdict on the log with a number, from one on a log that no limit concerns.
    ///
    /// Whether a limit concerns a log is a fact about it and the policy that it names, which never changes.
    package func limited(_ sequence: Int64) -> Verdict {
        if case .counts(let grant) = self, sequence > grant.logs { .rejected(.limit) } else { self }
    }
}

/// What a log or a baseline waits for.
package enum Need: Hashable, Sendable, CustomStringConvertible {
    /// A statement that is not here.
    case statement(StatementIdentifier)
    /// The base of a statement, which is therefore not in effect.
    case base(BaselineID)
    /// The word of a registrar that the account may contribute.
    case admittance(AccountIdentifier)
    /// The policy that merges a fork.
    case merge
    /// The first policy.
    case policy

    package var description: String {
        switch self {
        case .statement(let id): "the statement \(id)"
        case .base(let baseline): "the baseline \(baseline.name) of \(baseline.peer)"
        case .admittance(let account): "a registrar's admittance of \(account)"
        case .merge: "the policy that merges a fork"
        case .policy: "a policy in effect"
        }
    }
}

/// Why a log or one of its changes has no effect.
package enum Rejection: Hashable, Sendable, CustomStringConvertible {
    /// It was made for another container.
    case container
    /// Its certificate has no effect.
    case certificate(StatementFault)
    /// Its certificate does not name its author.
    case author
    /// The policy that it names has no effect.
    case policy(StatementFault)
    /// The policy that it names was overruled by a later term, or by the policy that merged a fork.
    case void
    /// Its number exceeds the limit of logs in the policy that it names.
    case limit
    /// Its account has removed the device.
    case removed
    /// The steward has removed its author, or has not seen the log when it removed the author.
    case cut
    /// The policy that it names does not know the device.
    case unknownDevice
    /// The policy that it names does not give its account the role.
    case role(String)
    /// The policy that it names says nothing about the table.
    case table(String)
    /// The record is another account's.
    case foreign

    package var description: String {
        switch self {
        case .container: "it was made for another container"
        case .certificate(let fault): "its author's certificate has no effect: \(fault)"
        case .author: "its certificate does not name its author"
        case .policy(let fault): "the policy that it names has no effect: \(fault)"
        case .void: "the policy that it names was overruled"
        case .limit: "its number exceeds the limit of logs in the policy that it names"
        case .removed: "its account has removed the device"
        case .cut: "the steward has removed its author"
        case .unknownDevice: "the policy that it names does not know the device"
        case .role(let role): "its account does not hold the role \(role)"
        case .table(let table): "the policy that it names says nothing about the table \(table)"
        case .foreign: "the record is another account's"
        }
    }
}

/// What the author of a log may change in it.
package struct Grant: Hashable, Sendable {
    package let author: Author
    /// Why no change of the author's own records has an effect; nil if they have one.
    package let slice: Rejection?
    /// Why no change of a curated table has an effect; nil if the roles decide.
    package let roles: Rejection?
    /// The policy that the log names.
    private let policy: Signed<Policy>

    init(_ author: Author, slice: Rejection?, roles: Rejection?, _ policy: Signed<Policy>) {
        (self.author, self.slice, self.roles, self.policy) = (author, slice, roles, policy)
    }

    /// The number of the device's last log that the policy lets count.
    package var logs: Int64 { policy.value.limits.logs }

    /// Returns whether the author holds a role, by the policy that it names.
    package func holds(_ role: String) -> Bool { roles == nil && policy.value.roles[role]?.contains(author.account) == true }

    /// Returns whether a change has an effect.
    package func allows(_ table: String, owner: AccountIdentifier?) -> Bool { refusal(of: table, owner: owner) == nil }

    /// Returns why a change has no effect.
    ///
    /// - Parameters:
    ///   - table: the name of the changed table.
    ///   - owner: the account that the record's key names, in a contributed table; nil in a curated table.
    /// - Returns: the reason, or nil if the change has an effect.
    package func refusal(of table: String, owner: AccountIdentifier?) -> Rejection? {
        switch policy.value.access[table] {
        case nil: return .table(table)
        case .creator: return owner == author.account ? slice : .foreign
        case .role(let role):
            guard owner == nil else { return .foreign }
            return roles ?? (policy.value.roles[role]?.contains(author.account) == true ? nil : .role(role))
        }
    }
}

/// Whether a baseline is joined.
package enum BaselineStanding: Hashable, Sendable {
    /// The baseline is its domain's base, or the domain's authority has warranted it since its last removal.
    case counts
    case waits(for: Set<Need>)
    case refused(BaselineFault)
}

/// Why a baseline is not joined.
package enum BaselineFault: Hashable, Sendable, CustomStringConvertible {
    /// Nobody has warranted it.
    case unwarranted
    /// The author of its warrant has no authority over the domain.
    case authority
    /// It is from before the authority's last removal.
    case outdated

    package var description: String {
        switch self {
        case .unwarranted: "nobody has warranted it"
        case .authority: "its author has no authority over its domain"
        case .outdated: "it was made before the last removal"
        }
    }
}
